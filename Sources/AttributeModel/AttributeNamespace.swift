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
    // By the first letter, and then the whole: each request comes by here.
    let candidate: AttributeNamespace =
      switch name.first {
      case UInt8(ascii: "u"): .user
      case UInt8(ascii: "t"): .trusted
      case UInt8(ascii: "s"): name.count > 1 && name[1] == UInt8(ascii: "e") ? .security : .system
      default: .unknown
      }
    let prefix = candidate.prefix
    var isSo = name.count >= prefix.count
    for index in prefix.indices where isSo { isSo = name[index] == prefix[index] }
    self = isSo ? candidate : .unknown
  }

  /// Its name and the dot.
  var prefix: [UInt8] {
    switch self {
    case .user: [0x75, 0x73, 0x65, 0x72, 0x2e]
    case .trusted: [0x74, 0x72, 0x75, 0x73, 0x74, 0x65, 0x64, 0x2e]
    case .security: [0x73, 0x65, 0x63, 0x75, 0x72, 0x69, 0x74, 0x79, 0x2e]
    case .system: [0x73, 0x79, 0x73, 0x74, 0x65, 0x6d, 0x2e]
    case .unknown: []
    }
  }
}
