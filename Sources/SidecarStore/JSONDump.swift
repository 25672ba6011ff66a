import AttributeModel
import LinuxSystem

/// Attributes as JSON Lines: an object a line, in which every byte survives.
///
///     {"path":"a/b","links":["c"],"type":"file","changed":"1700000000.000000007",
///      "attributes":[{"name":"user.a","value":"AAE="}]}
///
/// on one line. Paths and names are strings, or `{"base64":"..."}` where they are not UTF-8; values
/// are base64. `links` are further names of the object, where there are any; `changed`, seconds and
/// nanoseconds, is when an attribute last changed, where one ever did. What is not known is ignored.
public enum JSONDump {
  /// A line, with its end.
  public static func text(_ record: DumpRecord) -> [UInt8] {
    var members = ["\"path\":\(string(record.paths.first ?? []))"]
    if record.paths.count > 1 {
      members.append("\"links\":[\(record.paths.dropFirst().map(string).joined(separator: ","))]")
    }
    if let type = record.type, let name = names.first(where: { $0.type == type })?.name {
      members.append("\"type\":\"\(name)\"")
    }
    if let changed = record.changed {
      let fraction = String(changed.nanoseconds)
      let zeros = String(repeating: "0", count: max(0, 9 - fraction.count))
      members.append("\"changed\":\"\(changed.seconds).\(zeros)\(fraction)\"")
    }
    let attributes = record.attributes.sorted { $0.key < $1.key }.map { name, value in
      let encoded = String(decoding: Base64.encoded(value), as: UTF8.self)
      return "{\"name\":\(string(name.bytes)),\"value\":\"\(encoded)\"}"
    }
    members.append("\"attributes\":[\(attributes.joined(separator: ","))]")
    return Array("{\(members.joined(separator: ","))}\n".utf8)
  }

  /// The object in a line.
  static func record(_ line: [UInt8]) throws(JSONError) -> DumpRecord {
    var reading = JSONReading(line)
    let value = try reading.document()
    guard case .object(let members) = value else { throw JSONError("not an object") }
    guard let path = members["path"] else { throw JSONError("no \"path\"") }
    var paths = [try bytes(path, "path")]
    if let links = members["links"] {
      guard case .array(let links) = links else { throw JSONError("\"links\" is no array") }
      for link in links { paths.append(try bytes(link, "links")) }
    }
    guard paths.allSatisfy({ !$0.isEmpty && !$0.contains(0) }) else {
      throw JSONError("a path is empty or holds a NUL")
    }
    var record = DumpRecord(paths: paths, attributes: [:])
    if let type = members["type"] {
      let name = String(decoding: try bytes(type, "type"), as: UTF8.self)
      guard let known = names.first(where: { $0.name == name }) else {
        throw JSONError("there is no type \"\(name)\"")
      }
      record.type = known.type
    }
    if let changed = members["changed"] {
      record.changed = try time(bytes(changed, "changed"))
    }
    guard case .array(let attributes) = members["attributes"] ?? .array([]) else {
      throw JSONError("\"attributes\" is no array")
    }
    for attribute in attributes {
      let (name, value) = try self.attribute(attribute)
      record.attributes[name] = value
    }
    return record
  }

  private static func attribute(
    _ value: JSONReading.Value
  ) throws(JSONError) -> (AttributeName, [UInt8]) {
    guard case .object(let members) = value, let name = members["name"],
      case .string(let text) = members["value"]
    else { throw JSONError("an attribute needs \"name\" and \"value\"") }
    guard let value = Base64.decoded(text) else { throw JSONError("a value is no base64") }
    guard let name = try? AttributeName(try bytes(name, "name")) else {
      throw JSONError("a name is empty, holds a NUL or is longer than 255 bytes")
    }
    return (name, value)
  }

  private static func time(_ text: [UInt8]) throws(JSONError) -> Timestamp {
    let parts = String(decoding: text, as: UTF8.self).split(separator: ".")
    guard parts.count == 2, let seconds = Int64(parts[0]), parts[1].count == 9,
      parts[1].utf8.allSatisfy({ (0x30...0x39).contains($0) }), let fraction = Int64(parts[1])
    else { throw JSONError("\"changed\" is not like \"1700000000.000000000\"") }
    return Timestamp(seconds: seconds, nanoseconds: fraction)
  }

  private static func string(_ bytes: [UInt8]) -> String {
    if let text = String(validating: bytes, as: UTF8.self) { return JSONText.quoted(text) }
    return "{\"base64\":\"\(String(decoding: Base64.encoded(bytes), as: UTF8.self))\"}"
  }

  private static func bytes(
    _ value: JSONReading.Value, _ what: String
  ) throws(JSONError) -> [UInt8] {
    switch value {
    case .string(let bytes): return bytes
    case .object(let members):
      if case .string(let text) = members["base64"], let bytes = Base64.decoded(text) {
        return bytes
      }
    default: break
    }
    throw JSONError("\"\(what)\" is neither a string nor {\"base64\":...}")
  }

  private static let names: [(name: String, type: FileType)] = [
    ("file", .regular), ("directory", .directory), ("symlink", .symbolicLink), ("fifo", .fifo),
    ("socket", .socket), ("character device", .characterDevice), ("block device", .blockDevice),
  ]
}
