/// What is to become of an attribute when its file is copied, written to its name after `#`.
///
/// Apple's systems read these letters from the name itself: `com.example.key#CS` is an attribute
/// that depends on the contents and is to be synchronised. Linux only keeps the name.
public struct ExtendedAttributeFlags: OptionSet, Hashable, Sendable {
  /// The bits, as Apple's `xattr_flags_t` has them.
  public let rawValue: UInt64

  /// The flags whose bits are set.
  public init(rawValue: UInt64) {
    self.rawValue = rawValue
  }

  /// Not to be handed to other people (`P`).
  public static let noExport = Self(rawValue: 1 << 0)
  /// Describes the contents, so it is void when they change (`C`).
  public static let contentDependent = Self(rawValue: 1 << 1)
  /// Never to be copied (`N`).
  public static let neverPreserve = Self(rawValue: 1 << 2)
  /// To be synchronised with the file (`S`).
  public static let syncable = Self(rawValue: 1 << 3)
  /// To be copied by backups only (`B`).
  public static let onlyBackup = Self(rawValue: 1 << 4)

  fileprivate static let letters: [(flag: Self, letter: Character)] = [
    (.noExport, "P"), (.contentDependent, "C"), (.neverPreserve, "N"), (.syncable, "S"),
    (.onlyBackup, "B"),
  ]
}

extension ExtendedAttributeName {
  /// A name with the letters of flags after a `#`; without flags the name alone.
  ///
  /// - Parameters:
  ///   - name: The name, without flags of its own.
  ///   - flags: What is to become of the attribute when its file is copied.
  public init(_ name: String, flags: ExtendedAttributeFlags) {
    let letters = ExtendedAttributeFlags.letters.filter { flags.contains($0.flag) }
    self.init(letters.isEmpty ? name : name + "#" + String(letters.map(\.letter)))
  }

  /// The flags after the name's last `#`; none if what is there are not such letters.
  ///
  /// What Apple's systems assume for some names without a `#` is not among them.
  public var flags: ExtendedAttributeFlags {
    split.flags
  }

  /// The name without its flags; the name itself if it has none.
  public var withoutFlags: ExtendedAttributeName {
    split.flags.isEmpty ? self : ExtendedAttributeName(split.name)
  }

  private var split: (name: String, flags: ExtendedAttributeFlags) {
    guard let string, let mark = string.utf8.lastIndex(of: UInt8(ascii: "#")) else {
      return (string ?? "", [])
    }
    var flags: ExtendedAttributeFlags = []
    for letter in string[string.index(after: mark)...] {
      guard let known = ExtendedAttributeFlags.letters.first(where: { $0.letter == letter })
      else { return (string, []) }
      flags.insert(known.flag)
    }
    return (String(string[..<mark]), flags)
  }
}
