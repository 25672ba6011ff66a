public import Foundation

/// Everything that concerns more than one attribute.
extension ExtendedAttributeView {
  /// One attribute: its name and value.
  public typealias Element = (name: ExtendedAttributeName, value: Data)

  /// All attributes with their values, in the order of the file system.
  ///
  /// This is how to iterate:
  ///
  /// ```swift
  /// for (name, value) in try url.extendedAttributes.all() { ... }
  /// ```
  ///
  /// It takes one list and one get for each name, no more. An attribute that another program
  /// removes in between is left out; so is one that may be listed but not read (`EPERM`, `EACCES`
  /// on names outside `user.`).
  ///
  /// - Throws: ``ExtendedAttributeError``, as ``names()`` and ``data(for:)``.
  ///
  /// The corresponding system calls are `listxattr` and `getxattr`.
  public func all() throws(ExtendedAttributeError) -> [Element] {
    var elements: [Element] = []
    try forEach { name, value in elements.append((name, value)) }
    return elements
  }

  /// All attributes as a dictionary, as ``all()`` reads them.
  ///
  /// - Throws: ``ExtendedAttributeError``, as ``all()``.
  ///
  /// The corresponding system calls are `listxattr` and `getxattr`.
  public func dictionary() throws(ExtendedAttributeError) -> [ExtendedAttributeName: Data] {
    var values: [ExtendedAttributeName: Data] = [:]
    try forEach { name, value in values[name] = value }
    return values
  }

  /// Calls `body` with each attribute; only one value is in memory at a time.
  ///
  /// - Parameter body: Gets the name and the value. It may change the attributes: the names were
  ///   read before the first call.
  /// - Throws: ``ExtendedAttributeError``, as ``all()``.
  ///
  /// The corresponding system calls are `listxattr` and `getxattr`.
  public func forEach(
    _ body: (ExtendedAttributeName, Data) throws(ExtendedAttributeError) -> Void
  ) throws(ExtendedAttributeError) {
    try forEach(where: { _ in true }, body)
  }

  /// Removes the attributes of programs, or others that `predicate` chooses.
  ///
  /// An attribute that appears meanwhile may stay.
  ///
  /// - Parameter predicate: Which attributes to remove; without it the portable ones: on Linux
  ///   those under `user.`, so that access control lists and security labels stay.
  /// - Throws: ``ExtendedAttributeError``, as ``names()`` and
  ///   ``remove(_:)-(ExtendedAttributeName)``; what was removed by then is gone.
  ///
  /// The corresponding system calls are `listxattr` and `removexattr`.
  public func removeAll(
    where predicate: (ExtendedAttributeName) -> Bool = { $0.isPortable }
  ) throws(ExtendedAttributeError) {
    for name in try names() where predicate(name) {
      try remove(name)
    }
  }

  /// Copies the attributes of programs, or others that `predicate` chooses, to another file.
  ///
  /// Attributes of the same name are replaced there, others stay; `removeAll()` first for an exact
  /// copy. The two may be on different file systems.
  ///
  /// - Parameters:
  ///   - destination: The other file.
  ///   - predicate: Which attributes to copy; without it the portable ones: on Linux those under
  ///     `user.`.
  /// - Throws: ``ExtendedAttributeError``, as ``all()`` and
  ///   ``set(_:for:options:)-(ContiguousBytes,_,_)``; what was copied by then stays.
  ///
  /// The corresponding system calls are `listxattr`, `getxattr` and `setxattr`.
  public func copy(
    to destination: ExtendedAttributeView,
    where predicate: (ExtendedAttributeName) -> Bool = { $0.isPortable }
  ) throws(ExtendedAttributeError) {
    try forEach(where: predicate) { name, value throws(ExtendedAttributeError) in
      try destination.set(value, for: name)
    }
  }

  /// Reads with one buffer that has room for the longest list and the longest value, so that no
  /// call is needed to measure them.
  private func forEach(
    where predicate: (ExtendedAttributeName) -> Bool,
    _ body: (ExtendedAttributeName, Data) throws(ExtendedAttributeError) -> Void
  ) throws(ExtendedAttributeError) {
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: Room.long, alignment: 1)
    defer { room.deallocate() }

    let list = withTarget { target -> ReadOutcome<[ExtendedAttributeName]> in
      switch retried({ target.list(room) }) {
      case .success(let count):
        .success(ExtendedAttributes.names(in: UnsafeRawBufferPointer(rebasing: room[..<count])))
      // Only where lists have no limit: Linux has none longer than the buffer.
      case .failure(Code.range):
        readLong({ target.list($0) }, longList)
      case .failure(let code): .failure(code)
      }
    }

    for name in try result(of: list, .list, nil) where predicate(name) {
      let value = withTarget { target in
        name.withNative { native -> ReadOutcome<Data> in
          switch retried({ target.get(native, room) }) {
          case .success(let count):
            .success(Data(UnsafeRawBufferPointer(rebasing: room[..<count])))
          case .failure(Code.range): readLong({ target.get(native, $0) }, longData)
          case .failure(let code): .failure(code)
          }
        } failure: {
          .failure($0)
        }
      }
      switch value {
      case .success(let data): try body(name, data)
      case .failure(Code.noAttribute): continue
      case .failure(let code):
        // Some names are listed for everybody, though only the privileged may read them.
        let isKeptBack = code == Code.notPermitted || code == Code.accessDenied
        guard isKeptBack, !name.isPortable else { throw error(code, .get, name) }
      }
    }
  }
}
