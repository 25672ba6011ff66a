public import Foundation

extension FileAttributeKey {
  /// The extended attributes in the dictionaries of `attributesOfItem(atPath:)` and
  /// `setAttributes(_:ofItemAtPath:)`: `[String: Data]`, under `NSFileExtendedAttributes`.
  ///
  /// Foundation fills and obeys this entry by itself. On Linux its names are native ones, with
  /// their namespace: use ``ExtendedAttributeName/native`` for a key. It leaves out empty values
  /// when reading, cannot remove, reads the attributes of a symbolic link itself but writes those
  /// of the file behind it, and lets `copyItem` lose them all; the calls of this library do not.
  public static let extendedAttributes = FileAttributeKey(rawValue: "NSFileExtendedAttributes")
}

extension FileManager {
  /// The extended attributes of a file, all of them, empty ones too.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - followingSymlinks: Whether a symbolic link at the end of the path is followed.
  /// - Returns: The values by name.
  /// - Throws: ``ExtendedAttributeError``, as ``ExtendedAttributeView/all()``.
  ///
  /// The corresponding system calls are `listxattr` and `getxattr`.
  public func extendedAttributes(
    ofItemAtPath path: String, followingSymlinks: Bool = true
  ) throws(ExtendedAttributeError) -> [ExtendedAttributeName: Data] {
    try view(path, followingSymlinks).dictionary()
  }

  /// Writes extended attributes to a file; those that are not named stay as they are.
  ///
  /// - Parameters:
  ///   - attributes: The values by name; `nil` removes an attribute.
  ///   - path: The path of the file.
  ///   - followingSymlinks: Whether a symbolic link at the end of the path is followed.
  /// - Throws: ``ExtendedAttributeError``, as
  ///   ``ExtendedAttributeView/set(_:for:options:)-(ContiguousBytes,_,_)``; what was written by
  ///   then stays. They are written in the order of their names.
  ///
  /// The corresponding system calls are `setxattr` and `removexattr`.
  public func setExtendedAttributes(
    _ attributes: [ExtendedAttributeName: Data?], ofItemAtPath path: String,
    followingSymlinks: Bool = true
  ) throws(ExtendedAttributeError) {
    let view = view(path, followingSymlinks)
    for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
      if let value {
        try view.set(value, for: name)
      } else {
        try view.remove(name)
      }
    }
  }

  /// Copies a file, or a directory with everything in it, together with the extended attributes
  /// that `copyItem` loses on Linux.
  ///
  /// The copy itself is made by `copyItem(atPath:toPath:)`; symbolic links are copied, not
  /// followed. When the attributes cannot be written, the copy is removed again: there is a whole
  /// copy or none.
  ///
  /// - Parameters:
  ///   - source: The path of what is to be copied.
  ///   - destination: The path of the copy, where nothing may be yet.
  ///   - predicate: Which attributes to copy; without it the portable ones: on Linux those under
  ///     `user.`.
  /// - Throws: What `copyItem(atPath:toPath:)` throws, or ``ExtendedAttributeError``; of the kind
  ///   `notSupported` if there is an attribute to copy and the destination takes none.
  ///
  /// The corresponding system calls are `llistxattr`, `lgetxattr` and `lsetxattr`.
  public func copyItemPreservingExtendedAttributes(
    atPath source: String, toPath destination: String,
    where predicate: (ExtendedAttributeName) -> Bool = { $0.isPortable }
  ) throws {
    try copyItem(atPath: source, toPath: destination)
    do {
      try copyAttributes(from: source, to: destination, where: predicate)
      for item in try subpathsOfItem(in: source) {
        try copyAttributes(
          from: source + "/" + item, to: destination + "/" + item, where: predicate)
      }
    } catch {
      try? removeItem(atPath: destination)
      throw error
    }
  }

  /// Copies a file, or a directory with everything in it, together with its extended attributes, as
  /// ``copyItemPreservingExtendedAttributes(atPath:toPath:where:)``.
  ///
  /// - Parameters:
  ///   - source: The `file:` URL of what is to be copied.
  ///   - destination: The `file:` URL of the copy, where nothing may be yet.
  ///   - predicate: Which attributes to copy; without it the portable ones.
  /// - Throws: What `copyItem(at:to:)` throws, or ``ExtendedAttributeError``.
  ///
  /// The corresponding system calls are `llistxattr`, `lgetxattr` and `lsetxattr`.
  public func copyItemPreservingExtendedAttributes(
    at source: URL, to destination: URL,
    where predicate: (ExtendedAttributeName) -> Bool = { $0.isPortable }
  ) throws {
    try copyItemPreservingExtendedAttributes(
      atPath: source.path, toPath: destination.path, where: predicate)
  }

  private func copyAttributes(
    from source: String, to destination: String, where predicate: (ExtendedAttributeName) -> Bool
  ) throws(ExtendedAttributeError) {
    do {
      try view(source, false).copy(to: view(destination, false), where: predicate)
    } catch {
      // A source whose file system keeps no attributes has none to lose.
      guard error.kind == .notSupported, error.operation == .list else { throw error }
    }
  }

  private func subpathsOfItem(in path: String) throws -> [String] {
    let type = try attributesOfItem(atPath: path)[.type] as? FileAttributeType
    return type == .typeDirectory ? try subpathsOfDirectory(atPath: path) : []
  }

  private func view(_ path: String, _ followsSymlinks: Bool) -> ExtendedAttributeView {
    ExtendedAttributeView(path: path, followingSymlinks: followsSymlinks)
  }
}
