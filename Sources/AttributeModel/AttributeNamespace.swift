/// What stands before the first dot of an attribute's name, and who may see it (xattr(7)).
public enum AttributeNamespace: Hashable, Sendable {
  /// `user.`: on files and directories, guarded by the mode bits.
  case user
  /// `trusted.`: for processes with `CAP_SYS_ADMIN`; others do not even see the names.
  case trusted
  /// `security.`: for security modules; anybody may read it.
  case security
  /// `system.`: the kernel's own, such as access control lists.
  case system
  /// Anything else, which Linux file systems refuse.
  case unknown

  init(of name: [UInt8]) {
    // Each request comes by here: by the first letter, and then the whole.
    switch name.first {
    case UInt8(ascii: "u"): self = name.begins(0x7573_6572, 4) ? .user : .unknown
    case UInt8(ascii: "t"): self = name.begins(0x74_7275_7374_6564, 7) ? .trusted : .unknown
    case UInt8(ascii: "s"):
      if name.begins(0x7365_6375_7269_7479, 8) {
        self = .security
      } else {
        self = name.begins(0x7379_7374_656d, 6) ? .system : .unknown
      }
    default: self = .unknown
    }
  }

  /// How many bytes its name and the dot have.
  var prefixSize: Int {
    switch self {
    case .user: 5
    case .trusted: 8
    case .security: 9
    case .system: 7
    case .unknown: 0
    }
  }
}

extension [UInt8] {
  /// Whether it begins with so many letters, of which the first is the highest byte, and a dot.
  fileprivate func begins(_ letters: UInt64, _ count: Int) -> Bool {
    guard self.count > count, self[count] == UInt8(ascii: ".") else { return false }
    var found: UInt64 = 0
    for index in 0..<count { found = found << 8 | UInt64(self[index]) }
    return found == letters
  }
}
