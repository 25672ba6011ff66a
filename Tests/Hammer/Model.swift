/// An object that this process made, and what it must have.
final class Object {
  /// Its attributes.
  var attributes: [String: [UInt8]] = [:]
  /// What stands in the file; nil for a symbolic link.
  var content: [UInt8]?
  /// How many names it has.
  var links = 0

  init(content: [UInt8]?) { self.content = content }

  /// The namespace in which it may have attributes.
  var space: String { content == nil ? "trusted." : "user." }
}

/// A directory, held open.
final class Directory {
  let file: Int32
  /// Its number, for those that all processes share.
  let shared: Int?
  /// Where it is, for one of this process's own.
  var parent: Directory?
  var name: String
  var attributes: [String: [UInt8]] = [:]
  /// How many names this process has in it.
  var count = 0

  init(_ file: Int32, shared: Int? = nil, in parent: Directory? = nil, named name: String) {
    self.file = file
    self.shared = shared
    self.parent = parent
    self.name = name
  }

  func path(_ name: String) -> String { "/proc/self/fd/\(file)/\(name)" }

  /// How a manifest calls it: by the number of the shared one, or the way from the root.
  var place: String {
    if let shared { return "shared:\(shared)" }
    guard let parent else { return name }
    return parent.place + "/" + name
  }
}

/// One of this process's names.
struct Name: Hashable {
  let directory: ObjectIdentifier
  let name: String
}
