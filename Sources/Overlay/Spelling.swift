import FUSE
import LinuxSystem
import Synchronization

/// Whether a file system takes several spellings for one name.
enum Folding: UInt8, AtomicRepresentable {
  /// Nothing there has told yet.
  case unknown
  /// Each spelling is a name of its own.
  case exact
  /// Names that differ in case, and perhaps in more, are one.
  case folds
}

/// What the kernel knows when it came by another spelling than the directory lists. To the kernel
/// it is a node of its own, because it takes a rename between two names of one node for nothing
/// to do; to us it is the object.
final class Spelling: Node, KeyedNode, @unchecked Sendable {
  /// Guarded by the table.
  var tableKey: NodeKey
  /// No other node of this process has it.
  let serial = Inode.nextSerial()
  /// The object, of which the spelling holds one lookup for as long as the kernel knows it.
  let inode: Inode

  init(of inode: Inode, under key: NodeKey) {
    tableKey = key
    self.inode = inode
  }
}

extension FileName {
  /// The name with small ASCII letters for capital ones, and the other way round; nil without any.
  var otherCase: FileName? {
    let swapped = bytes.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
        byte ^ 0x20
      default: byte
      }
    }
    return swapped == bytes ? nil : try? FileName(swapped)
  }

  /// Whether no file system is known that lists a new name otherwise than it was spelled: FAT shows
  /// short names of capitals as its options say, cuts dots and blanks at the end, and others
  /// compose letters.
  var isListedAsSpelled: Bool {
    let bytes = bytes
    guard let last = bytes.last, last != UInt8(ascii: "."), last != UInt8(ascii: " ") else {
      return false
    }
    return bytes.allSatisfy { $0 < 0x80 }
      && bytes.contains { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
  }
}

/// Which of a directory's names another spelling may mean, the likeliest rule first.
///
/// No rule has to be the file system's own: that there is an object under the spelling, the file
/// system has said, and a rule that fits several names decides nothing.
enum SpellingRule: CaseIterable {
  /// ASCII letters in another case.
  case ascii
  /// Any letters in another case, or composed otherwise.
  case letters
  /// The same with dots and blanks at the end that are not kept.
  case cut

  /// The only name that is like one by this rule.
  func only(_ name: FileName, among names: [FileName]) -> FileName? {
    let wanted = folded(name)
    let alike = names.filter { folded($0) == wanted }
    return alike.count == 1 ? alike.first : nil
  }

  func folded(_ name: FileName) -> String {
    let bytes = name.bytes
    switch self {
    case .ascii:
      // One character a byte, whatever it is: only what is the same byte by byte is the same.
      return String(
        String.UnicodeScalarView(
          bytes.map {
            Unicode.Scalar((UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) ? $0 ^ 0x20 : $0)
          }))
    case .letters: return Self.capitals(bytes)
    case .cut:
      let kept = bytes.reversed().drop { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: " ") }
      return Self.capitals(kept.reversed())
    }
  }

  /// Capitals where a letter has exactly one. Strings are equal, however their letters are composed.
  private static func capitals(_ bytes: [UInt8]) -> String {
    var text = String.UnicodeScalarView()
    for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars {
      let capital = scalar.properties.uppercaseMapping.unicodeScalars
      text.append(capital.count == 1 ? capital.first ?? scalar : scalar)
    }
    return String(text)
  }
}
