import CLinux
import Glibc

extension Operation {
  static let trees = [statMany, list, walk(attributes: false), walk(attributes: true)]

  private static let statMany = Operation(name: "stat 10,000 files", kind: .file, calls: 10_000) {
    (place, _, calls) throws(Trouble) in
    let directory = try flat(place, calls)
    let names = (0..<calls).map { flatName($0) }
    return Work(count: calls) { (_, _) throws(Trouble) in
      let parent = try done(
        open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open \(directory)")
      defer { close(parent) }
      return try timed(calls) { (call) throws(Trouble) in
        var status = stat()
        try done(fstatat(parent, names[call], &status, 0), "stat \(directory)/\(names[call])")
        try expect(
          status.st_mode & S_IFMT == S_IFREG && status.st_size == 0,
          "stat \(directory)/\(names[call]): another file")
      }
    }
  }

  /// One operation is the reading of the whole directory.
  private static let list = Operation(name: "readdir 10,000 files", kind: .file, calls: 10_000) {
    (place, clients, calls) throws(Trouble) in
    let directory = try flat(place, calls)
    let memory = (0..<clients).map { _ in Memory(64 << 10) }
    return Work(count: 1) { (client, _) throws(Trouble) in
      try timed(1) { _ throws(Trouble) in
        var (count, sum) = (0, 0)
        try forEachEntry(of: directory, memory[client]) { (name, length) throws(Trouble) in
          count += 1
          sum += (0..<length).reduce(0) { $0 * 10 + Int(name[$1]) - 48 }
        }
        try expect(
          count == calls && sum == calls * flatBase + calls * (calls - 1) / 2,
          "readdir \(directory): other names than were made, \(count)")
      }
    }
  }

  private static func walk(attributes: Bool) -> Operation {
    let name = attributes ? "walk, lstat, listxattr" : "walk, lstat"
    return Operation(name: name, kind: .file, calls: 2000) {
      (place, clients, calls) throws(Trouble) in
      let top = try deep(place, calls)
      if attributes {
        try place.once("walk-attributes-\(calls)") { () throws(Trouble) in
          for number in 0..<calls {
            let path = "\(top)/\(number / 100)/\(number % 100)"
            try done(setxattr(path, "user.walk", "v", 1, 0), "setxattr \(path)")
          }
        }
      }
      let memory = (0..<clients).map { _ in (0..<2).map { _ in Memory(64 << 10) } }
      return Work(count: calls) { (client, _) throws(Trouble) in
        try timed(1) { _ throws(Trouble) in
          var files = 0
          try forEachEntry(of: top, memory[client][0]) { (name, _) throws(Trouble) in
            let directory = "\(top)/\(String(cString: name))"
            try forEachEntry(of: directory, memory[client][1]) { (name, _) throws(Trouble) in
              let path = "\(directory)/\(String(cString: name))"
              try look(at: path, attributes: attributes)
              files += 1
            }
          }
          try expect(files == calls, "walk \(top): \(files) of \(calls) files")
        }
      }
    }
  }

  private static func look(at path: String, attributes: Bool) throws(Trouble) {
    var status = stat()
    try done(lstat(path, &status), "lstat \(path)")
    try expect(
      status.st_mode & S_IFMT == S_IFREG && status.st_size == 0, "lstat \(path): another file")
    guard attributes else { return }
    var names: (UInt64, UInt64) = (0, 0)
    let count = try done(llistxattr(path, &names, 16), "llistxattr \(path)")
    let isRight = memcmp(&names, "user.walk", 10) == 0
    try expect(count == 10 && isRight, "llistxattr \(path): wrong names, \(count) bytes")
  }

  private static let flatBase = 100_000

  private static func flatName(_ number: Int) -> String { String(flatBase + number) }

  /// A directory with so many empty files.
  private static func flat(_ place: Place, _ count: Int) throws(Trouble) -> String {
    let directory = "\(try place.directory())/flat-\(count)"
    try place.once(directory) { () throws(Trouble) in
      try done(mkdir(directory, 0o755), "mkdir \(directory)")
      for number in 0..<count { try makeFile("\(directory)/\(flatName(number))") }
    }
    return directory
  }

  /// A directory with so many empty files in directories of a hundred.
  private static func deep(_ place: Place, _ count: Int) throws(Trouble) -> String {
    let top = "\(try place.directory())/deep-\(count)"
    try place.once(top) { () throws(Trouble) in
      try done(mkdir(top, 0o755), "mkdir \(top)")
      for number in 0..<count {
        let directory = "\(top)/\(number / 100)"
        if number % 100 == 0 { try done(mkdir(directory, 0o755), "mkdir \(directory)") }
        try makeFile("\(directory)/\(number % 100)")
      }
    }
    return top
  }
}

/// Calls `body` with each name in a directory and its length, without "." and "..".
///
/// By `getdents64` into one buffer, as `readdir` does it, which would copy the names once more.
private func forEachEntry(
  of directory: String, _ memory: Memory,
  _ body: (UnsafePointer<CChar>, Int) throws(Trouble) -> Void
) throws(Trouble) {
  let file = try done(open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open \(directory)")
  defer { close(file) }
  while true {
    let filled = try done(
      clinux_getdents64(file, memory.bytes, memory.count), "getdents64 \(directory)")
    if filled == 0 { return }
    var offset = 0
    while offset < filled {
      // struct linux_dirent64: the entry's length at 16, its name from 19 on.
      let length = memory.bytes.loadUnaligned(fromByteOffset: offset + 16, as: UInt16.self)
      let name = (memory.bytes + offset + 19).assumingMemoryBound(to: CChar.self)
      let count = strlen(name)
      let isDots = name[0] == 46 && (count == 1 || (count == 2 && name[1] == 46))
      if !isDots { try body(name, count) }
      offset += max(19, Int(length))
    }
  }
}
