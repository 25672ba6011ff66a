import CLinux
import Glibc

/// Sockets of the Unix domain, by which a running mount is spoken to.
public enum LocalSocket {
  /// Listens at a path that does not exist yet. The system calls are `socket`, `bind`, `listen`.
  public static func listen(at path: FileName) throws(Errno) -> FileDescriptor {
    let file = try FileDescriptor(owning: call { socket(AF_UNIX, streamType, 0) })
    let raw = file.raw
    try checkLength(path)
    try call { clinux_bind_path(raw, path.cString) }
    try call { Glibc.listen(raw, 16) }
    return file
  }

  /// Connects to who listens at a path; `ECONNREFUSED` when nobody does any more.
  public static func connect(to path: FileName) throws(Errno) -> FileDescriptor {
    let file = try FileDescriptor(owning: call { socket(AF_UNIX, streamType, 0) })
    let raw = file.raw
    try checkLength(path)
    try call { clinux_connect_path(raw, path.cString) }
    return file
  }

  private static let streamType = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)

  /// Whether a socket's address has room for a path.
  public static func takes(_ path: FileName) -> Bool { path.count <= Int(clinux_socket_path_max) }

  private static func checkLength(_ path: FileName) throws(Errno) {
    if !takes(path) { throw .nameTooLong }
  }
}

extension FileDescriptor {
  /// The next connection to a socket that listens. The corresponding system call is `accept4`.
  public func accept() throws(Errno) -> FileDescriptor {
    let raw = self.raw
    return try FileDescriptor(owning: call { clinux_accept(raw) })
  }

  /// Writes everything to a connection; `EPIPE`, and no signal, when the other end is closed. The
  /// corresponding system call is `send` with `MSG_NOSIGNAL`.
  public func send(_ bytes: some Collection<UInt8>) throws(Errno) {
    let raw = self.raw
    var rest = Array(bytes)
    while !rest.isEmpty {
      let sent = try call { Glibc.send(raw, rest, rest.count, Int32(MSG_NOSIGNAL)) }
      rest.removeFirst(sent)
    }
  }

  /// Waits until there is something to read or the other end is closed, at most so long; false
  /// when time ran out. The corresponding system call is `poll`.
  public func waitUntilReadable(milliseconds: Int32) throws(Errno) -> Bool {
    var entry = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
    return try call { poll(&entry, 1, milliseconds) } > 0
  }

  /// Reads what is there, up to `count` bytes; none at the end. The system call is `read`.
  public func readSome(count: Int) throws(Errno) -> [UInt8] {
    let raw = self.raw
    var buffer = [UInt8](repeating: 0, count: count)
    let length = try call { Glibc.read(raw, &buffer, count) }
    return Array(buffer.prefix(length))
  }

  /// Reads until nobody has the other end any more. The corresponding system call is `read`.
  public func readUntilClosed() throws(Errno) -> [UInt8] {
    var all = [UInt8]()
    while true {
      let some = try readSome(count: 4096)
      if some.isEmpty { return all }
      all += some
    }
  }

  /// Gives up the descriptor without closing it: it ends with the process.
  public consuming func keepOpenUntilExit() { discard self }

  /// Whether a person reads what is written here. The corresponding function is `isatty`.
  public var isTerminal: Bool { isatty(raw) == 1 }

  /// This process's standard input, as a descriptor of its own.
  public static func standardInput() throws(Errno) -> FileDescriptor {
    try FileDescriptor(owning: call { fcntl(0, F_DUPFD_CLOEXEC, 3) })
  }

  /// This process's standard output, as a descriptor of its own.
  public static func standardOutput() throws(Errno) -> FileDescriptor {
    try FileDescriptor(owning: call { fcntl(1, F_DUPFD_CLOEXEC, 3) })
  }

  /// This process's standard error, as a descriptor of its own.
  public static func standardError() throws(Errno) -> FileDescriptor {
    try FileDescriptor(owning: call { fcntl(2, F_DUPFD_CLOEXEC, 3) })
  }
}
