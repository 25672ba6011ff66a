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
    guard let dot = name.firstIndex(of: UInt8(ascii: ".")) else {
      self = .unknown
      return
    }
    switch String(decoding: name[..<dot], as: UTF8.self) {
    case "user": self = .user
    case "trusted": self = .trusted
    case "security": self = .security
    case "system": self = .system
    default: self = .unknown
    }
  }
}
