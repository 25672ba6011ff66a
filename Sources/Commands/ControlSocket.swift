import LinuxSystem

/// The socket on which a running mount answers its owner: `PID.sock` in a directory that nobody
/// else can enter.
///
/// A client writes one line, `text`, `json` or `where`, and reads the answer to its end. With
/// `wait` it gets none, and the connection closes as the daemon ends.
final class ControlSocket: Sendable {
  private let path: FileName

  /// Starts to listen; nil when that is not possible, which is reported and keeps nobody from
  /// using the mount.
  init?(_ mounting: Mounting, report: @escaping @Sendable (String) -> Void) {
    do throws(Errno) {
      path = try Self.freePath()
      let socket = Held(try Self.listen(at: path))
      let started = Timestamp.now
      try Threads.start(named: "control") {
        while let client = socket.accept() {
          Self.serve(client, MountStatus(of: mounting, since: started))
        }
      }
    } catch {
      report("status will not show this mount: \(error); make XDG_RUNTIME_DIR a directory of yours")
      return nil
    }
  }

  /// Takes the socket out of the directory.
  func close() { try? FileDescriptor.remove(path) }

  /// The answers of the daemons that this user can ask; of one mount's alone, if one is wanted.
  static func ask(_ question: String, of mount: MountedFileSystem?) -> [String] {
    sockets(of: Processes.effectiveUser).compactMap { path in
      if let mount, (try? exchange("where", path)) != Array(mount.device.utf8) { return nil }
      guard let answer = try? exchange(question, path) else { return nil }
      return answer.isEmpty ? nil : String(decoding: answer, as: UTF8.self)
    }
  }

  /// A connection that closes when the daemon of a mount ends; nil when there is none to be had.
  static func connection(to mount: MountedFileSystem) -> FileDescriptor? {
    var users = [Processes.effectiveUser]
    // Root may unmount what is others'.
    if let owner = mount.owner, Processes.effectiveUser == 0, owner != 0 { users.append(owner) }
    for path in users.flatMap({ sockets(of: $0) }) {
      guard let answer = try? exchange("where", path), answer == Array(mount.device.utf8),
        let connection = try? LocalSocket.connect(to: path),
        (try? connection.send("wait\n".utf8)) != nil
      else { continue }
      return connection
    }
    return nil
  }

  private static func exchange(_ question: String, _ path: FileName) throws(Errno) -> [UInt8] {
    let daemon = try LocalSocket.connect(to: path)
    try daemon.send("\(question)\n".utf8)
    var answer = [UInt8]()
    while try daemon.waitUntilReadable(milliseconds: 5000) {
      let bytes = try daemon.readSome(count: 65536)
      if bytes.isEmpty { return answer }
      answer += bytes
    }
    throw .tryAgain
  }

  private static func serve(
    _ client: consuming FileDescriptor, _ status: @autoclosure () -> MountStatus
  ) {
    do throws(Errno) {
      guard try client.waitUntilReadable(milliseconds: 1000) else { return }
      switch String(decoding: try client.readSome(count: 64), as: UTF8.self) {
      case "text\n": try client.send(status().text.utf8)
      case "json\n": try client.send(status().json.text.utf8)
      case "where\n": try client.send(status().device.utf8)
      case "wait\n":
        // Open until we end, or until the client loses interest: unmounting may fail.
        let waiting = Held(client)
        try Threads.start(named: "waiting") { waiting.waitUntilClosed() }
      default: return
      }
    } catch {}  // The client has gone away.
  }

  /// Whoever sees the socket can ask: one that refuses is a dead daemon's, and is cleared away.
  private static func listen(at path: FileName) throws(Errno) -> FileDescriptor {
    let early = try early(path)
    try? FileDescriptor.remove(early)
    let listening = try LocalSocket.listen(at: early)
    try FileDescriptor.rename(early, to: path)
    return listening
  }

  private static func early(_ path: FileName) throws(Errno) -> FileName {
    try FileName(path.bytes + Array(".new".utf8))
  }

  /// A path in the first directory that will do.
  private static func freePath() throws(Errno) -> FileName {
    var failure = Errno.noEntry
    let user = Processes.effectiveUser
    for place in places(of: user) {
      do throws(Errno) {
        let path = try place.open(for: user, makes: true)
          .appending(FileName("\(Processes.identifier).sock"))
        if !LocalSocket.takes(try early(path)) { throw .nameTooLong }
        return path
      } catch {
        failure = error
      }
    }
    throw failure
  }

  /// The sockets of a user's daemons that live.
  private static func sockets(of user: UInt32) -> [FileName] {
    var paths = [FileName]()
    for place in places(of: user) {
      guard let directory = try? place.open(for: user, makes: false),
        let opened = try? FileDescriptor.open(directory, [.readOnly, .directory])
      else { continue }
      var names = [String]()
      while let entries = try? opened.readDirectory(), !entries.isEmpty {
        names += entries.map(\.name.description).filter { $0.hasSuffix(".sock") }
      }
      for name in names.sorted() {
        let path = directory.appending(FileName(name))
        if !isAnswered(path) {
          try? opened.unlink(FileName(name))
        } else if !paths.contains(path) {
          paths.append(path)
        }
      }
    }
    return paths
  }

  private static func isAnswered(_ path: FileName) -> Bool {
    do throws(Errno) {
      _ = try LocalSocket.connect(to: path)
      return true
    } catch {
      return error != .connectionRefused
    }
  }

  /// Where a user's sockets may be, the best place first: a daemon and who asks it need not have the
  /// same environment.
  private static func places(of user: UInt32) -> [Place] {
    if user == 0 { return [Place(parent: FileName("/run"), name: FileName("sidecarfs"))] }
    var parents = [FileName("/run/user/\(user)")]
    if user == Processes.effectiveUser, let path = Processes.environment("XDG_RUNTIME_DIR") {
      // The XDG specification has relative paths ignored.
      if path.hasPrefix("/") { parents.insert(FileName(path), at: 0) }
    }
    return parents.map { Place(parent: $0, name: FileName("sidecarfs")) }
      + [Place(parent: FileName("/tmp"), name: FileName("sidecarfs-\(user)"))]
  }

  /// A directory that holds sockets.
  private struct Place {
    let parent: FileName
    let name: FileName

    /// Its path; `EPERM` when others could have put something there.
    func open(for user: UInt32, makes: Bool) throws(Errno) -> FileName {
      let above = try FileDescriptor.open(parent, [.path, .directory])
      if makes {
        do throws(Errno) { try above.makeDirectory(name, mode: 0o700) } catch {
          if error != .exists { throw error }
        }
      }
      let status = try above.status(of: name)
      guard status.type == .directory, status.uid == user, status.mode & 0o077 == 0 else {
        throw .notPermitted
      }
      return parent.appending(name)
    }
  }
}

extension Held {
  /// The next client; nil when there will be none. Too many open files are a matter of time.
  fileprivate func accept() -> FileDescriptor? {
    while true {
      do throws(Errno) {
        switch file {
        case .some(let file): return try file.accept()
        case .none: return nil
        }
      } catch {
        if error == .badDescriptor || error == .invalidArgument { return nil }
        Processes.sleep(milliseconds: 100)
      }
    }
  }
}

extension FileDescriptor {
  fileprivate static func remove(_ path: FileName) throws(Errno) {
    let (directory, name) = try split(path)
    try open(directory, [.path, .directory]).unlink(name)
  }

  fileprivate static func rename(_ path: FileName, to other: FileName) throws(Errno) {
    let (directory, name) = try split(path)
    let opened = try open(directory, [.path, .directory])
    try opened.rename(name, to: opened, split(other).name, [])
  }

  private static func split(
    _ path: FileName
  ) throws(Errno) -> (directory: FileName, name: FileName) {
    guard let slash = path.bytes.lastIndex(of: UInt8(ascii: "/")) else { throw .invalidArgument }
    return (try FileName(path.bytes[..<slash]), try FileName(path.bytes[(slash + 1)...]))
  }
}
