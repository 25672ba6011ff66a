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
      let directory = try Self.directory(makes: true)
      path = FileName("\(directory)/\(Processes.identifier).sock")
      // Left behind by a daemon that was killed and had our number.
      try? FileDescriptor.open(directory, [.path, .directory])
        .unlink(FileName("\(Processes.identifier).sock"))
      let listening = Connection(try LocalSocket.listen(at: path))
      let started = Timestamp.now
      try Threads.start(named: "control") {
        while let client = try? listening.file.accept() {
          Self.serve(client, MountStatus(of: mounting, since: started))
        }
      }
    } catch {
      report("status will not show this mount: \(error)")
      return nil
    }
  }

  /// Takes the socket out of the directory.
  func close() {
    guard let directory = try? Self.directory(makes: false),
      let opened = try? FileDescriptor.open(directory, [.path, .directory])
    else { return }
    try? opened.unlink(FileName("\(Processes.identifier).sock"))
  }

  /// The answers of the daemons that this user can ask; of one mount's alone, if one is wanted.
  static func ask(_ question: String, of mountPoint: FileName?) -> [String] {
    sockets().compactMap { path in
      if let mountPoint, (try? exchange("where", path)) != mountPoint.bytes { return nil }
      guard let answer = try? exchange(question, path) else { return nil }
      return answer.isEmpty ? nil : String(decoding: answer, as: UTF8.self)
    }
  }

  /// A connection that closes when the daemon of a mount ends; nil when there is none to be had.
  static func connection(toMountAt mountPoint: FileName) -> FileDescriptor? {
    for path in sockets() {
      guard let answer = try? exchange("where", path), answer == mountPoint.bytes,
        let connection = try? LocalSocket.connect(to: path),
        (try? connection.write("wait\n".utf8)) != nil
      else { continue }
      return connection
    }
    return nil
  }

  private static func exchange(_ question: String, _ path: FileName) throws(Errno) -> [UInt8] {
    let daemon = try LocalSocket.connect(to: path)
    try daemon.write("\(question)\n".utf8)
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
      case "text\n": try client.write(status().text.utf8)
      case "json\n": try client.write(status().json.text.utf8)
      case "where\n": try client.write(status().mountPoint.bytes)
      case "wait\n": client.keepOpenUntilExit()
      default: return
      }
    } catch {}  // The client has gone away.
  }

  private static func sockets() -> [FileName] {
    guard let directory = try? directory(makes: false),
      let opened = try? FileDescriptor.open(directory, [.readOnly, .directory])
    else { return [] }
    var names = [String]()
    while let entries = try? opened.readDirectory(), !entries.isEmpty {
      names += entries.map(\.name.description).filter { $0.hasSuffix(".sock") }
    }
    return names.sorted().map { FileName("\(directory)/\($0)") }
  }

  /// `/run/sidecarfs` for root, else `$XDG_RUNTIME_DIR/sidecarfs`.
  private static func directory(makes: Bool) throws(Errno) -> FileName {
    let parent: String
    if Processes.effectiveUser == 0 {
      parent = "/run"
    } else if let path = Processes.environment("XDG_RUNTIME_DIR") {
      parent = path
    } else {
      parent = "/run/user/\(Processes.effectiveUser)"
    }
    let above = try FileDescriptor.open(FileName(parent), [.path, .directory])
    let name = FileName("sidecarfs")
    if makes {
      do throws(Errno) { try above.makeDirectory(name, mode: 0o700) } catch {
        if error != .exists { throw error }
      }
    }
    let status = try above.status(of: name)
    guard status.type == .directory, status.uid == Processes.effectiveUser,
      status.mode & 0o077 == 0
    else { throw .notPermitted }
    return FileName("\(parent)/sidecarfs")
  }
}

/// Lets a thread's closure own a descriptor.
private final class Connection: Sendable {
  let file: FileDescriptor
  init(_ file: consuming FileDescriptor) { self.file = file }
}
