import CLinux
import Glibc

/// One of the processes: its own objects and names, in directories of its own and in shared ones.
final class Worker {
  private let root: String
  private let number: Int
  private let home: Directory
  private var directories: [Directory] = []
  private var shared: [Directory] = []
  private var names: [Name: Object] = [:]
  private var order: [Name] = []
  private var places: [ObjectIdentifier: Directory] = [:]
  private var serial = 0
  private var random: SystemRandomNumberGenerator = .init()
  /// How many steps were made.
  private(set) var steps = 0
  /// What is being done.
  private(set) var doing = ""

  init(root: String, number: Int) throws {
    self.number = number
    self.root = root
    let path = "\(root)/w\(number)"
    _ = try Calls.need("mkdir \(path)", Int(mkdir(path, 0o755)))
    home = Directory(try Calls.open(path, O_RDONLY | O_DIRECTORY), named: "w\(number)")
    enter(home)
    for shared in 0..<4 {
      let file = try Calls.open("\(root)/shared\(shared)", O_RDONLY | O_DIRECTORY)
      enter(Directory(file, shared: shared, named: ""))
    }
  }

  private func enter(_ directory: Directory) {
    places[ObjectIdentifier(directory)] = directory
    if directory.shared == nil { directories.append(directory) } else { shared.append(directory) }
  }

  private func path(_ name: Name) -> String {
    places[name.directory].map { $0.path(name.name) } ?? "?"
  }

  private func freshName() -> String {
    serial += 1
    return "n\(number)-\(serial)"
  }

  private func anyDirectory() -> Directory {
    (Int.random(in: 0..<3) == 0 ? shared : directories).randomElement() ?? home
  }

  private func anyName(_ accepts: (Object) -> Bool = { _ in true }) -> (Name, Object)? {
    guard let name = order.randomElement(), let object = names[name], accepts(object) else {
      return nil
    }
    return (name, object)
  }

  private func add(_ name: Name, _ object: Object) {
    names[name] = object
    order.append(name)
    object.links += 1
    places[name.directory]?.count += 1
  }

  private func drop(_ name: Name) {
    guard let object = names.removeValue(forKey: name) else { return }
    order.removeAll { $0 == name }
    object.links -= 1
    places[name.directory]?.count -= 1
  }

  private func newName() -> Name {
    Name(directory: ObjectIdentifier(anyDirectory()), name: freshName())
  }

  /// One thing, chosen at random.
  func step() throws {
    steps += 1
    switch Int.random(in: 0..<100) {
    case _ where order.count > 120: try act("unlink") { try unlink() }
    case 0..<14: try act("create") { try create() }
    case 14..<36: try act("set") { try set() }
    case 36..<44: try act("remove") { try remove() }
    case 44..<54: try act("check") { try anyName().map { try check($0.0, $0.1) } }
    case 54..<62: try act("rename") { try rename() }
    case 62..<66: try act("rename over") { try renameOver() }
    case 66..<70: try act("exchange") { try exchange() }
    case 70..<75: try act("link") { try link() }
    case 75..<80: try act("unlink") { try unlink() }
    case 80..<85: try act("unlink while open") { try unlinkWhileOpen() }
    case 85..<90: try act("nameless") { try nameless() }
    case 90..<98: try act("directories") { try changeDirectories() }
    default: try act("shared directories") { try moveShared() }
    }
  }

  private func act(_ what: String, _ body: () throws -> Void) throws {
    doing = what
    try body()
  }

  private func expect(
    _ found: [String: [UInt8]], _ object: Object, _ what: @autoclosure () -> String
  ) throws {
    if found == object.attributes { return }
    let names = (found.keys.sorted(), object.attributes.keys.sorted())
    throw Mismatch(text: "\(what()): has \(names.0), should have \(names.1), values compared too")
  }

  private func create() throws {
    let name = newName()
    if Int.random(in: 0..<6) == 0 {
      _ = try Calls.need("symlink", Int(symlink("nowhere", path(name))))
      add(name, Object(content: nil))
    } else {
      let content = Array(name.name.utf8)
      let file = try Calls.open(path(name), O_CREAT | O_EXCL | O_RDWR)
      defer { close(file) }
      _ = try Calls.need("write", write(file, content, content.count))
      add(name, Object(content: content))
    }
    if let object = names[name] { try check(name, object) }
  }

  private func value() -> [UInt8] {
    let size = Int.random(in: 0..<20) == 0 ? 5000 : Int.random(in: 0..<40)
    return (0..<size).map { _ in UInt8.random(in: 0...255) }
  }

  private func set() throws {
    guard let (name, object) = anyName() else { return }
    let attribute = object.space + "a\(Int.random(in: 0..<6))"
    let value = value()
    try Calls.set(path(name), attribute, value)
    object.attributes[attribute] = value
  }

  private func remove() throws {
    guard let (name, object) = anyName(), let attribute = object.attributes.keys.randomElement()
    else { return }
    try Calls.remove(path(name), attribute)
    object.attributes[attribute] = nil
  }

  private func check(_ name: Name, _ object: Object) throws {
    let path = path(name)
    try expect(try Calls.attributes(of: path), object, path)
    var status = stat()
    _ = try Calls.need("stat \(path)", Int(lstat(path, &status)))
    guard status.st_nlink == object.links else {
      throw Mismatch(text: "\(path) has \(status.st_nlink) links, not \(object.links)")
    }
    guard let content = object.content else { return }
    let file = try Calls.open(path, O_RDONLY)
    defer { close(file) }
    var found = [UInt8](repeating: 0, count: 100)
    let count = try Calls.need("read", read(file, &found, found.count))
    found = Array(found.prefix(count))
    if found != content { throw Mismatch(text: "\(path) holds \(found), not \(content)") }
  }

  private func rename() throws {
    guard let (name, object) = anyName() else { return }
    let target = newName()
    try Calls.rename(path(name), path(target), UInt32.random(in: 0...1))
    drop(name)
    add(target, object)
  }

  private func renameOver() throws {
    guard let (name, object) = anyName(), let (target, victim) = anyName() else { return }
    if name == target { return }
    let file = victim.content == nil ? -1 : try Calls.open(path(target), O_RDONLY)
    defer { if file >= 0 { close(file) } }
    try Calls.rename(path(name), path(target))
    // Two names of one object: nothing happens.
    if object === victim { return }
    drop(target)
    drop(name)
    add(target, object)
    if file >= 0 { try expect(try Calls.attributes(of: file), victim, "what was replaced") }
    try check(target, object)
  }

  private func exchange() throws {
    guard let (name, object) = anyName(), let (other, second) = anyName() else { return }
    if name == other { return }
    try Calls.rename(path(name), path(other), 2)
    names[name] = second
    names[other] = object
    try check(name, second)
  }

  private func link() throws {
    guard let (name, object) = anyName() else { return }
    let target = newName()
    try Calls.link(path(name), path(target))
    add(target, object)
  }

  private func unlink() throws {
    guard let (name, _) = anyName() else { return }
    try Calls.unlink(path(name))
    drop(name)
  }

  private func unlinkWhileOpen() throws {
    guard let (name, object) = anyName({ $0.content != nil }) else { return }
    let file = try Calls.open(path(name), O_RDWR)
    defer { close(file) }
    try Calls.unlink(path(name))
    drop(name)
    let value = value()
    try Calls.set(file, "user.late", value)
    object.attributes["user.late"] = value
    try expect(try Calls.attributes(of: file), object, "an open file")
  }

  private func nameless() throws {
    let file = try Calls.open(anyDirectory().path("."), 0o20_000_000 | O_DIRECTORY | O_RDWR)
    defer { close(file) }
    let object = Object(content: [7])
    _ = try Calls.need("write", write(file, [7], 1))
    object.attributes["user.nameless"] = value()
    try Calls.set(file, "user.nameless", object.attributes["user.nameless"] ?? [])
    if Bool.random() {
      let name = newName()
      try Calls.link("/proc/self/fd/\(file)", path(name), follow: true)
      add(name, object)
    }
    try expect(try Calls.attributes(of: file), object, "a nameless file")
  }

  private func changeDirectories() throws {
    guard let directory = directories.randomElement() else { return }
    switch Int.random(in: 0..<4) {
    case 0 where directories.count < 10:
      let name = freshName()
      let path = directory.path(name)
      _ = try Calls.need("mkdir", Int(mkdir(path, 0o755)))
      let file = try Calls.open(path, O_RDONLY | O_DIRECTORY)
      enter(Directory(file, in: directory, named: name))
      directory.count += 1
    case 1:
      let value = value()
      try Calls.set(directory.file, "user.d", value)
      directory.attributes["user.d"] = value
    case 2:
      guard let parent = directory.parent, let target = directories.randomElement() else { return }
      var above: Directory? = target
      while let step = above {
        if step === directory { return }
        above = step.parent
      }
      let name = freshName()
      try Calls.rename(parent.path(directory.name), target.path(name))
      parent.count -= 1
      target.count += 1
      directory.parent = target
      directory.name = name
    default:
      guard let parent = directory.parent, directory.count == 0 else { return }
      _ = try Calls.need("rmdir", Int(rmdir(parent.path(directory.name))))
      guard try Calls.attributes(of: directory.file) == directory.attributes else {
        throw Mismatch(text: "a removed directory has other attributes")
      }
      parent.count -= 1
      directories.removeAll { $0 === directory }
      places[ObjectIdentifier(directory)] = nil
      close(directory.file)
    }
  }

  /// The shared directories change their names, two at a time, whoever is at work in them.
  private func moveShared() throws {
    guard number == 0 else { return }
    let pair = [0, 1, 2, 3].shuffled()
    try Calls.rename("\(root)/shared\(pair[0])", "\(root)/shared\(pair[1])", 2)
    try Calls.rename("\(root)/shared\(pair[0])", "\(root)/moving")
    try Calls.rename("\(root)/moving", "\(root)/shared\(pair[0])", 1)
  }

  /// Compares everything with the model.
  func checkAll() throws {
    doing = "last check"
    for (name, object) in names { try check(name, object) }
    for directory in directories
    where try Calls.attributes(of: directory.file) != directory.attributes {
      throw Mismatch(text: "\(directory.place) has other attributes")
    }
  }

  /// `place/name attribute=value ...` of all names, values in hexadecimal.
  func manifest() throws -> [String] {
    names.map { name, object in
      line((places[name.directory]?.place ?? "?") + "/" + name.name, object.attributes)
    } + directories.map { line($0.place, $0.attributes) }
  }

  private func line(_ place: String, _ attributes: [String: [UInt8]]) -> String {
    let words = attributes.sorted { $0.key < $1.key }.map { name, value in
      name + "=" + value.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
    return ([place] + words).joined(separator: " ")
  }
}
