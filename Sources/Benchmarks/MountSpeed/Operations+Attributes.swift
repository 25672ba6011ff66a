import CLinux
import Glibc

extension Operation {
  static let attributes =
    [(64, "64 B", 1000), (4096, "4 KiB", 1000), (61_440, "60 KiB", 300)].map {
      (size, title, calls) in get(size, title, calls)
    }
    + [missing, probeThenGet, replace, setOnNewFiles]
    + [(1, 1000), (10, 1000), (100, 300)].map { (count, calls) in list(count, calls) }
    + [remove]

  private static func get(_ size: Int, _ title: String, _ calls: Int) -> Operation {
    Operation(name: "getxattr \(title)", kind: .attribute, calls: calls) {
      (place, clients, calls) throws(Trouble) in
      let value = Memory(size)
      value.stamp(1)
      let files = try Files(place, clients, room: size)
      try files.setAll("user.get", value)
      return Work(count: calls) { (client, _) throws(Trouble) in
        let (file, memory) = (files.paths[client], files.memory[client])
        return try timed(calls) { _ throws(Trouble) in
          memory.spoil(size)
          let count = try done(getxattr(file, "user.get", memory.bytes, size), "getxattr \(file)")
          try expect(
            count == size && memory.starts(with: value, count: size),
            "getxattr \(file): a wrong value, \(count) bytes")
        }
      } finish: { () throws(Trouble) in
        try files.removeAll("user.get")
      }
    }
  }

  private static let missing = Operation(name: "getxattr miss", kind: .attribute, calls: 1000) {
    (place, clients, calls) throws(Trouble) in
    let files = try Files(place, clients, room: 64)
    // One that it has, so that there is something to search in and the directory is seen to be able.
    try files.setAll("user.there", Memory(8))
    return Work(count: calls) { (client, _) throws(Trouble) in
      let (file, memory) = (files.paths[client], files.memory[client])
      return try timed(calls) { _ throws(Trouble) in
        let count = getxattr(file, "user.missing", memory.bytes, memory.count)
        guard count == -1, errno == ENODATA else {
          throw count < 0
            ? Trouble(call: "getxattr \(file)")
            : Trouble(wrong: "getxattr \(file): what is not there")
        }
      }
    } finish: { () throws(Trouble) in
      try files.removeAll("user.there")
    }
  }

  private static let probeThenGet = Operation(
    name: "probe, getxattr 64 B", kind: .attribute, calls: 500
  ) { (place, clients, calls) throws(Trouble) in
    let value = Memory(64)
    value.stamp(2)
    let files = try Files(place, clients, room: 64)
    try files.setAll("user.probe", value)
    return Work(count: calls) { (client, _) throws(Trouble) in
      let (file, memory) = (files.paths[client], files.memory[client])
      return try timed(calls) { _ throws(Trouble) in
        memory.spoil(64)
        let size = try done(getxattr(file, "user.probe", nil, 0), "getxattr \(file)")
        try expect(size == 64, "getxattr \(file): a wrong size, \(size)")
        let count = try done(getxattr(file, "user.probe", memory.bytes, size), "getxattr \(file)")
        try expect(
          count == 64 && memory.starts(with: value, count: 64), "getxattr \(file): a wrong value")
      }
    } finish: { () throws(Trouble) in
      try files.removeAll("user.probe")
    }
  }

  private static let replace = Operation(
    name: "setxattr replace", kind: .attribute, calls: 200
  ) { (place, clients, calls) throws(Trouble) in
    let files = try Files(place, clients, room: 64)
    for client in 0..<clients { try files.set("user.set.\(client)", client, Memory(64)) }
    return Work(count: calls) { (client, round) throws(Trouble) in
      let (file, name) = (files.paths[client], "user.set.\(client)")
      let value = Memory(64)
      value.stamp(UInt64(round))
      let time = try timed(calls) { (call) throws(Trouble) in
        value.bytes.storeBytes(of: UInt64(call), as: UInt64.self)
        try done(setxattr(file, name, value.bytes, 64, Int32(XATTR_REPLACE)), "setxattr \(file)")
      }
      try files.check(name, client, value)
      return time
    } finish: { () throws(Trouble) in
      for client in 0..<clients { try files.remove("user.set.\(client)", client) }
    }
  }

  private static let setOnNewFiles = Operation(
    name: "setxattr on new files", kind: .attribute, calls: 200
  ) { (place, clients, calls) throws(Trouble) in
    let directory = try place.directory()
    let files = try Files(place, clients, room: 64)
    try files.setAll("user.able", Memory(64))
    try files.removeAll("user.able")
    return Work(count: calls) { (client, round) throws(Trouble) in
      let paths = (0..<calls).map { "\(directory)/new-\(client)-\($0)" }
      for path in paths { try makeFile(path) }
      let value = Memory(64)
      value.stamp(UInt64(round))
      let time = try timed(calls) { (call) throws(Trouble) in
        try done(
          setxattr(paths[call], "user.new", value.bytes, 64, Int32(XATTR_CREATE)),
          "setxattr \(paths[call])")
      }
      for path in paths {
        try checkAttribute(path, "user.new", value, files.memory[client])
        try done(unlink(path), "unlink \(path)")
      }
      return time
    }
  }

  private static func list(_ number: Int, _ calls: Int) -> Operation {
    let names = number == 1 ? "1 name" : "\(number) names"
    return Operation(name: "listxattr \(names)", kind: .attribute, calls: calls) {
      (place, clients, calls) throws(Trouble) in
      let files = try Files(place, clients, room: 4096)
      for index in 0..<number { try files.setAll("user.list.\(1000 + index)", Memory(8)) }
      return Work(count: calls) { (client, _) throws(Trouble) in
        let (file, memory) = (files.paths[client], files.memory[client])
        return try timed(calls) { _ throws(Trouble) in
          let count = try done(
            listxattr(file, memory.bytes, memory.count), "listxattr \(file)")
          let sum = sumOfListed(memory, count)
          // Each of them once and nothing else: as long, and with that sum, nothing else can be.
          try expect(
            count == number * 15 && sum == number * 1000 + number * (number - 1) / 2,
            "listxattr \(file): wrong names, \(count) bytes")
        }
      } finish: { () throws(Trouble) in
        for index in 0..<number { try files.removeAll("user.list.\(1000 + index)") }
      }
    }
  }

  private static let remove = Operation(name: "removexattr", kind: .attribute, calls: 200) {
    (place, clients, calls) throws(Trouble) in
    let files = try Files(place, clients, room: 64)
    let value = Memory(64)
    try files.setAll("user.able", value)
    try files.removeAll("user.able")
    return Work(count: calls) { (client, _) throws(Trouble) in
      let (file, name) = (files.paths[client], "user.remove.\(client)")
      var time: UInt64 = 0
      for _ in 0..<calls {
        try files.set(name, client, value)
        time += try timed(1) { _ throws(Trouble) in
          try done(removexattr(file, name), "removexattr \(file)")
        }
        try expect(
          getxattr(file, name, nil, 0) == -1 && errno == ENODATA, "removexattr \(file): it is there"
        )
      }
      return time
    }
  }
}

/// The sum of the numbers that names of 15 bytes end in; -1 for names of other lengths.
private func sumOfListed(_ memory: Memory, _ count: Int) -> Int {
  var sum = 0
  for start in stride(from: 0, to: count - 14, by: 15) {
    guard memory.bytes.load(fromByteOffset: start + 14, as: UInt8.self) == 0 else { return -1 }
    var number = 0
    for offset in start + 10..<start + 14 {
      let digit = memory.bytes.load(fromByteOffset: offset, as: UInt8.self)
      number = number * 10 + Int(digit) - 48
    }
    sum += number
  }
  return sum
}

/// A file for each client, and memory for what it reads. Where there is one file, it is all of them.
private struct Files: Sendable {
  let paths: [String]
  let memory: [Memory]

  init(_ place: Place, _ clients: Int, room: Int) throws(Trouble) {
    var paths: [String] = []
    for client in 0..<clients { paths.append(try place.file(client)) }
    self.paths = paths
    memory = (0..<clients).map { _ in Memory(room) }
  }

  func set(_ name: String, _ client: Int, _ value: Memory) throws(Trouble) {
    let path = paths[client]
    try done(setxattr(path, name, value.bytes, value.count, 0), "setxattr \(path)")
  }

  func remove(_ name: String, _ client: Int) throws(Trouble) {
    let path = paths[client]
    if removexattr(path, name) != 0, errno != ENODATA { throw Trouble(call: "removexattr \(path)") }
  }

  func setAll(_ name: String, _ value: Memory) throws(Trouble) {
    for client in paths.indices { try set(name, client, value) }
  }

  func removeAll(_ name: String) throws(Trouble) {
    for client in paths.indices { try remove(name, client) }
  }

  func check(_ name: String, _ client: Int, _ value: Memory) throws(Trouble) {
    try checkAttribute(paths[client], name, value, memory[client])
  }
}

/// Throws unless a file has an attribute of this value.
func checkAttribute(
  _ path: String, _ name: String, _ value: Memory, _ memory: Memory
) throws(Trouble) {
  let count = try done(getxattr(path, name, memory.bytes, memory.count), "getxattr \(path)")
  try expect(
    count == value.count && memory.starts(with: value, count: count),
    "\(path): \(name) is not what was set")
}
