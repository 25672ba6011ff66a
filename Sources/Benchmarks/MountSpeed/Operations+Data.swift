import CLinux
import Glibc

extension Operation {
  static let data = [
    sequentialRead, sequentialWrite, randomRead, randomWrite, writeAndSync, attributeAndSync,
  ]

  private static let large = 128 << 10
  private static let small = 4 << 10

  private static let sequentialRead = Operation(
    name: "read 128 KiB in turn", kind: .file, calls: 128
  ) { (place, clients, calls) throws(Trouble) in
    try reading(place, clients, calls, block: large) { call, _ in call }
  }

  private static let randomRead = Operation(
    name: "read 4 KiB at random", kind: .file, calls: 500
  ) { (place, clients, calls) throws(Trouble) in
    try reading(place, clients, calls, block: small) { call, round in
      scattered(call, round, of: calls)
    }
  }

  private static let sequentialWrite = Operation(
    name: "write 128 KiB in turn", kind: .file, calls: 128
  ) { (place, clients, calls) throws(Trouble) in
    try writing(place, clients, calls, block: large, syncs: false) { call, _ in call }
  }

  private static let randomWrite = Operation(
    name: "write 4 KiB at random", kind: .file, calls: 500
  ) { (place, clients, calls) throws(Trouble) in
    try writing(place, clients, calls, block: small, syncs: false) { call, round in
      scattered(call, round, of: calls)
    }
  }

  private static let writeAndSync = Operation(
    name: "write 4 KiB, fsync", kind: .file, calls: 100
  ) { (place, clients, calls) throws(Trouble) in
    try writing(place, clients, calls, block: small, syncs: true) { call, _ in call }
  }

  private static let attributeAndSync = Operation(
    name: "setxattr, fsync", kind: .file, calls: 100
  ) { (place, clients, calls) throws(Trouble) in
    _ = try place.directory()
    var made: [String] = []
    for client in 0..<clients {
      let path = try place.file(client)
      try done(setxattr(path, "user.sync", "", 0, 0), "setxattr \(path)")
      made.append(path)
    }
    let paths = made
    return Work(count: calls) { (client, round) throws(Trouble) in
      let path = paths[client]
      let (value, memory) = (Memory(64), Memory(64))
      value.stamp(UInt64(round))
      let file = try done(open(path, O_RDWR | O_CLOEXEC), "open \(path)")
      defer { close(file) }
      let time = try timed(calls) { (call) throws(Trouble) in
        value.bytes.storeBytes(of: UInt64(call), as: UInt64.self)
        try done(fsetxattr(file, "user.sync", value.bytes, 64, 0), "fsetxattr \(path)")
        try done(fsync(file), "fsync \(path)")
      }
      try checkAttribute(path, "user.sync", value, memory)
      return time
    } finish: { () throws(Trouble) in
      for path in paths { try done(removexattr(path, "user.sync"), "removexattr \(path)") }
    }
  }

  /// A number below `count`, another for each call of a round, in no order that could be guessed.
  private static func scattered(_ call: Int, _ round: Int, of count: Int) -> Int {
    // A prime that no usual count has as a factor: every number comes once.
    (call * 7919 + round * 31) % count
  }

  private static func reading(
    _ place: Place, _ clients: Int, _ calls: Int, block: Int,
    at index: @escaping @Sendable (_ call: Int, _ round: Int) -> Int
  ) throws(Trouble) -> Work {
    let directory = try place.directory()
    let memory = (0..<clients).map { _ in Memory(block) }
    for client in 0..<clients {
      let path = "\(directory)/read-\(client)"
      let file = try done(
        open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o644), "open \(path)")
      defer { close(file) }
      for number in 0..<calls {
        memory[client].stamp(UInt64(number))
        try expect(
          pwrite(file, memory[client].bytes, block, number * block) == block, "pwrite \(path)")
      }
    }
    return Work(count: calls) { (client, round) throws(Trouble) in
      let (path, memory) = ("\(directory)/read-\(client)", memory[client])
      let file = try done(open(path, O_RDONLY | O_CLOEXEC), "open \(path)")
      defer { close(file) }
      let last = block - 8
      return try timed(calls) { (call) throws(Trouble) in
        let number = index(call, round)
        memory.spoil(block)
        let count = try done(pread(file, memory.bytes, block, number * block), "pread \(path)")
        try expect(
          count == block && memory.bytes.load(as: UInt64.self) == UInt64(number)
            && memory.bytes.load(fromByteOffset: last, as: UInt64.self) == UInt64(number + last),
          "pread \(path): wrong content, \(count) bytes")
      }
    } finish: { () throws(Trouble) in
      for client in 0..<clients { try done(unlink("\(directory)/read-\(client)"), "unlink") }
    }
  }

  private static func writing(
    _ place: Place, _ clients: Int, _ calls: Int, block: Int, syncs: Bool,
    at index: @escaping @Sendable (_ call: Int, _ round: Int) -> Int
  ) throws(Trouble) -> Work {
    let directory = try place.directory()
    let memory = (0..<clients).map { _ in Memory(block) }
    for client in 0..<clients { try makeFile("\(directory)/written-\(client)") }
    return Work(count: calls) { (client, round) throws(Trouble) in
      let (path, memory) = ("\(directory)/written-\(client)", memory[client])
      let file = try done(open(path, O_RDWR | O_CLOEXEC), "open \(path)")
      defer { close(file) }
      let time = try timed(calls) { (call) throws(Trouble) in
        let stamp = UInt64(round << 20 | call)
        memory.bytes.storeBytes(of: stamp, as: UInt64.self)
        let offset = index(call, round) * block
        let count = try done(pwrite(file, memory.bytes, block, offset), "pwrite \(path)")
        try expect(count == block, "pwrite \(path): \(count) bytes")
        if syncs { try done(fsync(file), "fsync \(path)") }
      }
      for call in 0..<calls {
        let offset = index(call, round) * block
        let count = try done(pread(file, memory.bytes, block, offset), "pread \(path)")
        try expect(
          count == block && memory.bytes.load(as: UInt64.self) == UInt64(round << 20 | call),
          "\(path): not what was written")
      }
      return time
    } finish: { () throws(Trouble) in
      for client in 0..<clients { try done(unlink("\(directory)/written-\(client)"), "unlink") }
    }
  }
}
