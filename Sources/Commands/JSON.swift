import SidecarStore

/// A value of JSON (RFC 8259), to be written; the daemon does without Foundation.
enum JSON {
  case string(String)
  case number(Int)
  case bool(Bool)
  case object([Member])
  case array([JSON])

  /// A name and a value of an object.
  struct Member {
    let name: String
    let value: JSON
  }

  var text: String {
    switch self {
    case .string(let text): JSONText.quoted(text)
    case .number(let number): "\(number)"
    case .bool(let bool): "\(bool)"
    case .object(let members):
      "{" + members.map { "\(JSONText.quoted($0.name)):\($0.value.text)" }.joined(separator: ",")
        + "}"
    case .array(let elements): "[" + elements.map(\.text).joined(separator: ",") + "]"
    }
  }

  /// For people, on one line.
  var plain: String {
    switch self {
    case .string(let text): text
    case .number(let number): "\(number)"
    case .bool(let bool): bool ? "yes" : "no"
    case .object(let members):
      members.map { "\($0.name) \($0.value.plain)" }.joined(separator: ", ")
    case .array(let elements): elements.map(\.plain).joined(separator: " ")
    }
  }
}
