public import Foundation

/// The extended attributes of one file, directory or symbolic link.
///
/// A view holds the path or the descriptor, no attribute: every call asks the file system, and what
/// another program changes is seen by the next call. Views come from `url.extendedAttributes`,
/// `fileHandle.extendedAttributes`, or the initializers; making one opens nothing and cannot fail.
///
/// ```swift
/// let attributes = url.extendedAttributes
/// try attributes.set(Data("42 %".utf8), for: "com.example.progress")
/// let progress = try attributes.data(for: "com.example.progress")   // nil when there is none
/// for (name, value) in try attributes.all() { print(name, value.count) }
/// ```
///
/// Nothing here is `async`, and nothing needs to be: each call is one to three short system calls,
/// which the system offers in no other form; on a local disk they take microseconds. A view may be
/// used from any thread; one call is atomic, two are not. To read many values in a loop, make the
/// view once: turning a URL into a path costs about as much as reading an attribute.
public struct ExtendedAttributeView: Sendable {
  let item: Item

  /// How the file is named.
  enum Item: Sendable {
    case path([CChar], followsSymlinks: Bool)
    case descriptor(Int32)
    case handle(FileHandle)
    /// What cannot be a file; every call says so.
    case notAFile(String)
  }

  /// How an attribute may be written; without options it is created or replaced.
  public struct SetOptions: OptionSet, Hashable, Sendable {
    /// The bits; they are this library's own.
    public let rawValue: Int32

    /// The options whose bits are set.
    public init(rawValue: Int32) {
      self.rawValue = rawValue
    }

    /// The attribute must not exist yet: ``ExtendedAttributeError/Kind/exists`` (`EEXIST`)
    /// otherwise. The system's flag is `XATTR_CREATE`.
    public static let create = SetOptions(rawValue: 1)

    /// The attribute must exist: ``ExtendedAttributeError/Kind/missing`` (`ENODATA`) otherwise.
    /// The system's flag is `XATTR_REPLACE`.
    public static let replace = SetOptions(rawValue: 2)
  }

  /// The attributes of the file at a path.
  ///
  /// - Parameters:
  ///   - path: An absolute path, or one relative to the working directory of the process at the
  ///     time of each call.
  ///   - followingSymlinks: Whether a symbolic link at the end of the path is followed. Linux
  ///     allows no `user.` attributes on a link itself.
  public init(path: String, followingSymlinks: Bool = true) {
    guard !path.utf8.contains(0) else {
      item = .notAFile(path)
      return
    }
    item = .path(path.utf8.map(CChar.init(bitPattern:)) + [0], followsSymlinks: followingSymlinks)
  }

  /// The attributes of the file at a path of any bytes.
  ///
  /// - Parameters:
  ///   - pathBytes: The path as the system knows it, without a NUL.
  ///   - followingSymlinks: Whether a symbolic link at the end of the path is followed.
  public init(pathBytes: some Collection<UInt8>, followingSymlinks: Bool = true) {
    guard !pathBytes.contains(0) else {
      item = .notAFile(String(decoding: pathBytes, as: UTF8.self))
      return
    }
    item = .path(pathBytes.map(CChar.init(bitPattern:)) + [0], followsSymlinks: followingSymlinks)
  }

  /// The attributes of the file that a `file:` URL names.
  ///
  /// - Parameters:
  ///   - url: A `file:` URL. With any other, every call throws
  ///     ``ExtendedAttributeError/Kind/notAFileURL``.
  ///   - followingSymlinks: Whether a symbolic link at the end of the path is followed.
  public init(url: URL, followingSymlinks: Bool = true) {
    let path = url.withUnsafeFileSystemRepresentation { start -> [CChar]? in
      guard let start, url.isFileURL else { return nil }
      return Array(UnsafeBufferPointer(start: start, count: strlen(start) + 1))
    }
    if let path {
      item = .path(path, followsSymlinks: followingSymlinks)
    } else {
      item = .notAFile(url.absoluteString)
    }
  }

  /// The attributes of an open file.
  ///
  /// They can be read and written whatever the file was opened for, and also when its last name is
  /// gone. A descriptor opened with `O_PATH` answers `EBADF`.
  ///
  /// - Parameter fileDescriptor: A descriptor that stays open as long as the view is used; the view
  ///   does not close it.
  public init(fileDescriptor: Int32) {
    item = .descriptor(fileDescriptor)
  }

  /// The attributes of an open file, which the view keeps alive.
  ///
  /// - Parameter fileHandle: A handle that is not closed as long as the view is used.
  public init(fileHandle: FileHandle) {
    item = .handle(fileHandle)
  }
}

extension ExtendedAttributeView {
  /// The names of all attributes, in the order of the file system.
  ///
  /// On Linux names of other namespaces than `user` are among them; `trusted.` names are shown to
  /// privileged callers only. A file system without attributes answers an empty list or
  /// ``ExtendedAttributeError/Kind/notSupported``, as it likes.
  ///
  /// Limit: on Linux all names of a file together have 65 536 bytes, one NUL after each.
  ///
  /// - Throws: ``ExtendedAttributeError`` with `ENOENT`, `EACCES`, `EOPNOTSUPP`, `E2BIG`, ...
  ///
  /// The corresponding system call is `listxattr` (`llistxattr`, `flistxattr`).
  public func names() throws(ExtendedAttributeError) -> [ExtendedAttributeName] {
    let outcome = withTarget { target in
      read({ target.list($0) }, short: names(in:), long: longList)
    }
    return try result(of: outcome, .list, nil)
  }

  /// The value of an attribute.
  ///
  /// A value of up to 1024 bytes costs one system call, a longer one three. One that grows between
  /// two of them is read again, a bounded number of times.
  ///
  /// - Parameter name: The attribute.
  /// - Returns: The value, which may be empty, or `nil` if there is no such attribute.
  /// - Throws: ``ExtendedAttributeError`` with `ENOENT`, `EACCES`, `EPERM`, `EOPNOTSUPP`, `ERANGE`
  ///   (name), ...
  ///
  /// The corresponding system call is `getxattr` (`lgetxattr`, `fgetxattr`).
  public func data(for name: ExtendedAttributeName) throws(ExtendedAttributeError) -> Data? {
    try value(for: name, short: { Data($0) }, long: longData)
  }

  /// Creates or replaces an attribute. Readers see the old value or the new one, nothing between.
  ///
  /// Limits: on Linux no file system takes a value over 65 536 bytes. ext4 has one block, 4096
  /// bytes or 1024 on a small disk, for all attributes of a file with their names; Btrfs about 16
  /// 000 bytes for one value; XFS and tmpfs take 65 536, and so does a SidecarFS mount over any of
  /// them.
  ///
  /// - Parameters:
  ///   - value: The bytes; none at all is a value too.
  ///   - name: The attribute.
  ///   - options: Whether it must not, or must, exist.
  /// - Throws: ``ExtendedAttributeError`` with `EEXIST`, `ENODATA`, `EOPNOTSUPP`, `ENOSPC`,
  ///   `EDQUOT`, `EPERM`, `EACCES`, `EROFS`, `E2BIG`, `ERANGE` (name), `EINVAL` (name), ...
  ///
  /// The corresponding system call is `setxattr` (`lsetxattr`, `fsetxattr`).
  public func set(
    _ value: some ContiguousBytes, for name: ExtendedAttributeName, options: SetOptions = []
  ) throws(ExtendedAttributeError) {
    let flags =
      (options.contains(.create) ? Code.create : 0)
      | (options.contains(.replace) ? Code.replace : 0)
    let answer = withTarget { target in
      name.withNative { native in
        value.withUnsafeBytes { bytes in retried { target.set(native, bytes, flags) } }
      } failure: {
        .failure($0)
      }
    }
    if case .failure(let code) = answer { throw error(code, .set, name) }
  }

  /// Removes an attribute, if it is there.
  ///
  /// - Parameter name: The attribute.
  /// - Returns: Whether it was there.
  /// - Throws: ``ExtendedAttributeError`` with `EOPNOTSUPP`, `EPERM`, `EACCES`, `EROFS`, ...;
  ///   not `ENODATA`.
  ///
  /// The corresponding system call is `removexattr` (`lremovexattr`, `fremovexattr`).
  @discardableResult
  public func remove(_ name: ExtendedAttributeName) throws(ExtendedAttributeError) -> Bool {
    let answer = withTarget { target in
      name.withNative { native in
        retried { target.remove(native) }
      } failure: {
        .failure($0)
      }
    }
    switch answer {
    case .success: return true
    case .failure(Code.noAttribute): return false
    case .failure(let code): throw error(code, .remove, name)
    }
  }

  /// Whether there is such an attribute; its value is not read.
  ///
  /// - Parameter name: The attribute.
  /// - Throws: ``ExtendedAttributeError`` with `ENOENT`, `EACCES`, `EOPNOTSUPP`, ...; not
  ///   `ENODATA`.
  ///
  /// The corresponding system call is `getxattr` with a buffer of no bytes.
  public func contains(_ name: ExtendedAttributeName) throws(ExtendedAttributeError) -> Bool {
    try size(of: name) != nil
  }

  /// The length of an attribute's value in bytes, or `nil` if there is no such attribute.
  ///
  /// - Parameter name: The attribute.
  /// - Throws: ``ExtendedAttributeError`` with `ENOENT`, `EACCES`, `EOPNOTSUPP`, ...; not
  ///   `ENODATA`.
  ///
  /// The corresponding system call is `getxattr` with a buffer of no bytes.
  public func size(of name: ExtendedAttributeName) throws(ExtendedAttributeError) -> Int? {
    let answer = withTarget { target in
      name.withNative { native in
        retried { target.get(native, UnsafeMutableRawBufferPointer(start: nil, count: 0)) }
      } failure: {
        .failure($0)
      }
    }
    switch answer {
    case .success(let count): return count
    case .failure(Code.noAttribute): return nil
    case .failure(let code): throw error(code, .get, name)
    }
  }

  /// The value of an attribute, as ``data(for:)`` reads it.
  ///
  /// Swift has no setter that throws, so writing is ``set(_:for:options:)-(ContiguousBytes,_,_)``.
  ///
  /// - Parameter name: The attribute.
  public subscript(name: ExtendedAttributeName) -> Data? {
    get throws(ExtendedAttributeError) { try data(for: name) }
  }
}
