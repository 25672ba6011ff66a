import Glibc

/// Bytes that can be handed to the kernel as a name or a path: none of them NUL.
///
/// Linux names are bytes, not text: a `String` would rewrite what is not UTF-8.
public struct FileName: Hashable, Sendable {
  /// The bytes and the NUL that ends them, as C takes them.
  package let cString: [CChar]

  /// Takes bytes without their NUL; `EINVAL` when there is one among them.
  public init(_ bytes: some Collection<UInt8>) throws(Errno) {
    if bytes.contains(0) { throw .invalidArgument }
    var name: [CChar] = []
    name.reserveCapacity(bytes.count + 1)
    for byte in bytes { name.append(CChar(bitPattern: byte)) }
    name.append(0)
    cString = name
  }

  /// A name written in the source code or on a command line; it ends at a NUL, if it has one.
  public init(_ text: String) {
    cString = text.utf8.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
  }

  /// A name that C handed over, copied up to its NUL.
  package init(copying pointer: UnsafePointer<CChar>) {
    cString = Array(UnsafeBufferPointer(start: pointer, count: strlen(pointer) + 1))
  }

  /// The bytes before the first NUL, or all.
  package init(copying bytes: UnsafeRawBufferPointer) {
    let length = bytes.firstIndex(of: 0) ?? bytes.count
    cString = Array(unsafeUninitializedCapacity: length + 1) { name, count in
      for index in 0..<length { name[index] = CChar(bitPattern: bytes[index]) }
      name[length] = 0
      count = length + 1
    }
  }

  /// The bytes, without the NUL.
  public var bytes: [UInt8] { cString.withUnsafeBytes { Array($0.dropLast()) } }

  /// How many bytes the name has.
  public var count: Int { cString.count - 1 }

  /// The path of `name` in the directory of which this is the path.
  public func appending(_ name: FileName) -> FileName {
    let isClosed = bytes.last == UInt8(ascii: "/")
    return FileName(
      cString: cString.dropLast() + (isClosed ? [] : [CChar(bitPattern: UInt8(ascii: "/"))])
        + name.cString)
  }

  private init(cString: [CChar]) { self.cString = cString }

  /// The names that every directory has, for itself and the one above.
  public var isDot: Bool { self == Self.here || self == Self.above }
  private static let here = FileName(".")
  private static let above = FileName("..")

  /// The name "", which with `AT_EMPTY_PATH` means the descriptor itself.
  package static let empty = FileName("")
}

extension FileName: CustomStringConvertible {
  /// What a person can read; bytes that are not UTF-8 show as U+FFFD.
  public var description: String { String(decoding: bytes, as: UTF8.self) }
}
