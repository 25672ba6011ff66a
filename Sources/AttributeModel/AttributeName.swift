public import LinuxSystem

/// The name of an extended attribute: one to 255 bytes, none of them NUL.
///
/// Names are bytes to Linux; they need not be UTF-8 (xattr(7)).
public struct AttributeName: Hashable, Sendable {
  /// The bytes, without a NUL.
  public let bytes: [UInt8]

  /// Takes the bytes of a name; `ERANGE` when it is empty, too long or holds a NUL, as Linux says.
  public init(_ bytes: [UInt8]) throws(Errno) {
    guard !bytes.isEmpty, bytes.count <= Self.maximumLength, !bytes.contains(0) else {
      throw .outOfRange
    }
    self.bytes = bytes
  }

  /// The same of a part of something. Each request comes by the other one, which the compiler need
  /// not make for every kind of collection.
  public init(_ bytes: some Collection<UInt8>) throws(Errno) { try self.init(Array(bytes)) }

  private init(known name: String) { bytes = Array(name.utf8) }

  /// `security.capability`: what a program may do that its user may not (capabilities(7)).
  public static let capability = AttributeName(known: "security.capability")

  /// The most bytes a name may have (`XATTR_NAME_MAX`, linux/limits.h).
  public static let maximumLength = 255

  /// What the name's first dot sets apart.
  public var namespace: AttributeNamespace { AttributeNamespace(of: bytes) }
}

extension AttributeName: Comparable, CustomStringConvertible {
  /// By their bytes, which is the order of a list.
  public static func < (left: AttributeName, right: AttributeName) -> Bool {
    left.bytes.lexicographicallyPrecedes(right.bytes)
  }

  /// What a person can read; bytes that are not UTF-8 show as U+FFFD.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
