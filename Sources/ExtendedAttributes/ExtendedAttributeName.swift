/// The name of an extended attribute, the same in source on Linux and on Apple platforms.
///
/// Linux keeps every name in a namespace (`user`, `trusted`, `security`, `system`); Apple platforms
/// know none, and programs use reversed domains there: `com.example.key`. So a name without a
/// namespace is kept under `user.` on Linux and read back without it:
///
/// | written as | kept on Linux as | kept on Apple platforms as |
/// |---|---|---|
/// | `"com.example.key"` | `user.com.example.key` | `com.example.key` |
/// | `"user.com.example.key"` | `user.com.example.key` | `user.com.example.key` |
/// | `"trusted.key"` | `trusted.key` | `trusted.key` |
/// | `.native("com.example.key")` | `com.example.key` | `com.example.key` |
///
/// Linux itself refuses the last of these (`EOPNOTSUPP`), some file systems that come from other
/// systems accept it.
///
/// A name is bytes, not characters: two spellings that Swift's `String` holds equal, such as the
/// composed and the decomposed "é", are two names. On Linux a name need not even be UTF-8;
/// ``init(nativeBytes:)`` makes such a name and ``string`` is `nil` for it.
///
/// Limits: on Linux 255 bytes with the namespace, so 250 for a name that goes under `user.`; on
/// Apple platforms 127 bytes. Never empty, no NUL. A name beyond them can be made, and the call
/// that uses it throws ``ExtendedAttributeError/Kind/nameNotAllowed``.
public struct ExtendedAttributeName: Sendable {
  /// The name as it is written in a program; never the longer of two spellings of one name.
  private let text: Text
  /// Kept exactly so, though it has no namespace.
  private let isVerbatim: Bool

  private enum Text {
    case string(String)
    /// Only for what is not UTF-8, so that no name has two forms.
    case bytes([UInt8])
  }

  /// A name that means the same on every system.
  ///
  /// - Parameter name: Any UTF-8, with or without a Linux namespace before its first dot.
  public init(_ name: String) {
    #if canImport(Darwin)
      text = .string(name)
    #else
      // By bytes: the dot may be one character with what follows it.
      text = .string(
        Self.isUnderUser(name.utf8)
          ? String(decoding: name.utf8.dropFirst(Self.userPrefix.count), as: UTF8.self) : name)
    #endif
    isVerbatim = false
  }

  /// A name as the system knows it, byte for byte.
  ///
  /// - Parameter nativeBytes: The name with its namespace, without a NUL at its end.
  public init(nativeBytes: some Collection<UInt8>) {
    let bytes = Array(nativeBytes)
    #if canImport(Darwin)
      let isPortable = false
      isVerbatim = false
    #else
      let isPortable = Self.isUnderUser(bytes)
      isVerbatim = !Self.hasNamespace(bytes)
    #endif
    let shown = isPortable ? Array(bytes.dropFirst(Self.userPrefix.count)) : bytes
    if let string = shown.withUnsafeBytes(validText) {
      text = .string(string)
    } else {
      text = .bytes(shown)
    }
  }

  /// A name that is passed to the system as it is: nothing is put before it.
  ///
  /// - Parameter name: The whole name, on Linux with its namespace: `.native("security.selinux")`.
  public static func native(_ name: String) -> Self {
    Self(nativeBytes: Array(name.utf8))
  }

  /// The name as a program writes it, without `user.`; `nil` if it is not UTF-8.
  public var string: String? {
    if case .string(let string) = text { return string }
    return nil
  }

  /// The name as the system knows it, with its namespace on Linux.
  ///
  /// This is what `getfattr` shows, and what Foundation's own
  /// `attributesOfItem(atPath:)` has as a key.
  public var native: String {
    String(decoding: nativeBytes, as: UTF8.self)
  }

  /// The name as the system knows it, byte for byte, without a NUL at its end.
  public var nativeBytes: [UInt8] {
    (needsPrefix ? Self.userPrefix : []) + bytes
  }

  /// Whether the attribute belongs to programs, not to the system.
  ///
  /// On Linux these are the names under `user.`; the others hold access control lists, security
  /// labels and capabilities, or want privileges. On Apple platforms every name is portable.
  public var isPortable: Bool {
    #if canImport(Darwin)
      true
    #else
      needsPrefix || bytes.starts(with: Self.userPrefix)
    #endif
  }

  /// Whether the kernel can know what to do with the name at all.
  var hasNamespace: Bool {
    #if canImport(Darwin)
      true
    #else
      needsPrefix || Self.hasNamespace(bytes)
    #endif
  }

  /// Whether the kernel looks for the name, rather than refusing it for its length.
  var isWithinLimits: Bool {
    let count = nativeBytes.count
    return count > 0 && count <= Code.nameLimit
  }

  private var bytes: [UInt8] {
    switch text {
    case .string(let string): Array(string.utf8)
    case .bytes(let bytes): bytes
    }
  }

  private var needsPrefix: Bool {
    #if canImport(Darwin)
      false
    #else
      switch text {
      case .string(let string): !isVerbatim && !Self.hasNamespace(string.utf8)
      case .bytes(let bytes): !isVerbatim && !Self.hasNamespace(bytes)
      }
    #endif
  }

  private static let userPrefix: [UInt8] = Array("user.".utf8)

  /// Whether the first dot ends one of the four words that Linux knows.
  private static func hasNamespace(_ bytes: some Collection<UInt8>) -> Bool {
    func begins(_ word: StaticString) -> Bool {
      word.withUTF8Buffer { bytes.starts(with: $0) }
    }
    return begins("user.") || begins("trusted.") || begins("security.") || begins("system.")
  }

  /// Whether `user.` can be left away and the rest still means the same name.
  private static func isUnderUser(_ bytes: some Collection<UInt8>) -> Bool {
    guard bytes.starts(with: userPrefix) else { return false }
    let rest = bytes.dropFirst(userPrefix.count)
    return !rest.isEmpty && !hasNamespace(rest)
  }
}

extension ExtendedAttributeName {
  /// Hands the name to a system call, from the stack.
  ///
  /// - Returns: What `body` returns, or `failure` of the errno with which the kernel would refuse.
  @inline(__always)
  func withNative<Result>(
    _ body: (UnsafePointer<CChar>) -> Result, failure: (Int32) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { room in
      var count = 0
      var refused: Int32?
      func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard count + bytes.count <= Code.nameLimit else {
          refused = Code.nameTooLong
          return
        }
        for byte in bytes {
          if byte == 0 { refused = Code.invalid }
          room[count] = CChar(bitPattern: byte)
          count += 1
        }
      }
      if needsPrefix {
        let prefix: StaticString = "user."
        prefix.withUTF8Buffer(append)
      }
      switch text {
      case .bytes(let bytes): bytes.withUnsafeBufferPointer(append)
      case .string(var string): string.withUTF8(append)
      }
      if count == 0 { refused = refused ?? Code.nameTooLong }
      guard refused == nil, let start = room.baseAddress else {
        return failure(refused ?? Code.invalid)
      }
      room[count] = 0
      return body(start)
    }
  }
}

extension ExtendedAttributeName: Hashable {
  /// Whether both are the same name to the system, byte for byte.
  public static func == (left: Self, right: Self) -> Bool {
    guard left.isVerbatim == right.isVerbatim else { return false }
    switch (left.text, right.text) {
    case (.string(let left), .string(let right)): return left.utf8.elementsEqual(right.utf8)
    case (.bytes(let left), .bytes(let right)): return left == right
    default: return false
    }
  }

  /// Feeds the bytes of the name to `hasher`.
  public func hash(into hasher: inout Hasher) {
    switch text {
    case .string(var string): string.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .bytes(let bytes): bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
  }
}

extension ExtendedAttributeName: Comparable {
  /// Orders names by the bytes that the system knows.
  public static func < (left: Self, right: Self) -> Bool {
    left.nativeBytes.lexicographicallyPrecedes(right.nativeBytes)
  }
}

extension ExtendedAttributeName: ExpressibleByStringInterpolation {
  /// A name that means the same on every system, as ``init(_:)`` makes it.
  public init(stringLiteral value: String) {
    self.init(value)
  }
}

extension ExtendedAttributeName: CustomStringConvertible, CustomDebugStringConvertible {
  /// The name as a program writes it; bytes that are not UTF-8 show as U+FFFD.
  public var description: String {
    switch text {
    case .string(let string): string
    case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }

  /// The name as the system knows it.
  public var debugDescription: String {
    native
  }
}
