import CLinux
import Glibc

extension Operation {
  static let files = [statHot, openClose, createUnlink, makeRemoveDirectory, rename]

  private static let statHot = Operation(name: "stat hot", kind: .file, calls: 2000) {
    (place, clients, calls) throws(Trouble) in
    var made: [String] = []
    for client in 0..<clients { made.append(try place.file(client)) }
    let paths = made
    return Work(count: calls) { (client, _) throws(Trouble) in
      let path = paths[client]
      var first = stat()
      try done(stat(path, &first), "stat \(path)")
      return try timed(calls) { _ throws(Trouble) in
        var status = stat()
        try done(stat(path, &status), "stat \(path)")
        try expect(
          status.st_ino == first.st_ino && status.st_size == first.st_size
            && status.st_mode & S_IFMT == S_IFREG, "stat \(path): another file")
      }
    }
  }

  private static let openClose = Operation(name: "open, close", kind: .file, calls: 500) {
    (place, clients, calls) throws(Trouble) in
    _ = try place.directory()
    var made: [String] = []
    for client in 0..<clients { made.append(try place.file(client)) }
    let paths = made
    return Work(count: calls) { (client, _) throws(Trouble) in
      let path = paths[client]
      return try timed(calls) { _ throws(Trouble) in
        let file = try done(open(path, O_RDONLY | O_CLOEXEC), "open \(path)")
        try done(close(file), "close \(path)")
      }
    }
  }

  private static let createUnlink = Operation(name: "create, unlink", kind: .file, calls: 200) {
    (place, clients, calls) throws(Trouble) in
    let directories = try own(place, clients)
    return Work(count: calls) { (client, _) throws(Trouble) in
      let path = "\(directories[client])/made"
      let time = try timed(calls) { _ throws(Trouble) in
        // Each is new, and each has been there: O_EXCL and unlink would tell.
        let file = try done(
          open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0o644), "create \(path)")
        try done(close(file), "close \(path)")
        try done(unlink(path), "unlink \(path)")
      }
      try expect(access(path, F_OK) == -1 && errno == ENOENT, "\(path) was not removed")
      return time
    }
  }

  private static let makeRemoveDirectory = Operation(
    name: "mkdir, rmdir", kind: .file, calls: 200
  ) { (place, clients, calls) throws(Trouble) in
    let directories = try own(place, clients)
    return Work(count: calls) { (client, _) throws(Trouble) in
      let path = "\(directories[client])/made"
      let time = try timed(calls) { _ throws(Trouble) in
        try done(mkdir(path, 0o755), "mkdir \(path)")
        try done(rmdir(path), "rmdir \(path)")
      }
      try expect(access(path, F_OK) == -1 && errno == ENOENT, "\(path) was not removed")
      return time
    }
  }

  private static let rename = Operation(name: "rename", kind: .file, calls: 200) {
    (place, clients, calls) throws(Trouble) in
    let directories = try own(place, clients)
    return Work(count: calls) { (client, _) throws(Trouble) in
      let paths = ["\(directories[client])/one", "\(directories[client])/other"]
      try makeFile(paths[0])
      let time = try timed(calls) { (call) throws(Trouble) in
        let from = paths[call & 1]
        try done(Glibc.rename(from, paths[1 - call & 1]), "rename \(from)")
      }
      let (there, gone) = (paths[calls & 1], paths[1 - calls & 1])
      try expect(access(gone, F_OK) == -1 && errno == ENOENT, "\(gone) has not been renamed")
      try done(unlink(there), "unlink \(there)")
      return time
    }
  }

  /// A directory for each client: names of one directory are changed one after another.
  private static func own(_ place: Place, _ clients: Int) throws(Trouble) -> [String] {
    var directories: [String] = []
    for client in 0..<clients {
      let directory = "\(try place.directory())/directory-\(client)"
      try place.once("directory-\(client)") { () throws(Trouble) in
        try done(mkdir(directory, 0o755), "mkdir \(directory)")
      }
      directories.append(directory)
    }
    return directories
  }
}
