public import Foundation

extension URL {
  /// The extended attributes of the file; a symbolic link at the end of the path is followed.
  ///
  /// See ``ExtendedAttributeView`` for what can be done with them.
  public var extendedAttributes: ExtendedAttributeView {
    ExtendedAttributeView(url: self)
  }

  /// The extended attributes of the file, or of the symbolic link itself.
  ///
  /// - Parameter followingSymlinks: Whether a symbolic link at the end of the path is followed.
  ///   Linux allows no `user.` attributes on a link itself.
  public func extendedAttributes(followingSymlinks: Bool) -> ExtendedAttributeView {
    ExtendedAttributeView(url: self, followingSymlinks: followingSymlinks)
  }

  /// The text of an attribute: the first of the two classic calls.
  ///
  /// - Parameter name: The attribute; any string, on Linux with or without a namespace.
  /// - Returns: The value, if it can be read and is UTF-8. For whatever else it is `nil`; to tell
  ///   the reasons apart use ``extendedAttributes``.
  ///
  /// The corresponding system call is `getxattr`.
  public func extendedAttribute(for name: String) -> String? {
    // Without a view, which would keep a copy of the path.
    withUnsafeFileSystemRepresentation { path in
      guard let path, isFileURL else { return nil }
      let target = Target.path(path, followsSymlinks: true)
      let outcome = target.value(
        of: ExtendedAttributeName(name), short: validText, long: longText)
      guard case .success(let text) = outcome else { return nil }
      return text
    }
  }

  /// Writes text to an attribute: the second of the two classic calls.
  ///
  /// - Parameters:
  ///   - value: The text, kept as UTF-8 without a NUL at its end.
  ///   - name: The attribute; any string, on Linux with or without a namespace.
  /// - Returns: Whether it was written; for the reason use ``extendedAttributes``.
  ///
  /// The corresponding system call is `setxattr`.
  @discardableResult
  public func setExtendedAttribute(value: String, for name: String) -> Bool {
    (try? extendedAttributes.set(string: value, for: ExtendedAttributeName(name))) != nil
  }

  /// Removes an attribute, in the manner of the classic calls.
  ///
  /// - Parameter name: The attribute; any string, on Linux with or without a namespace.
  /// - Returns: Whether it was there and is gone.
  ///
  /// The corresponding system call is `removexattr`.
  @discardableResult
  public func removeExtendedAttribute(for name: String) -> Bool {
    (try? extendedAttributes.remove(ExtendedAttributeName(name))) ?? false
  }
}
