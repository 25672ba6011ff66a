import CLinux
import Glibc

extension Calls {
  @discardableResult
  func mkdir(_ path: Bytes, _ mode: UInt32 = 0o755) -> Int {
    call("mkdir(\(path), \(octal(mode)))") { Glibc.mkdir(path.cString, mode) }
  }

  func rmdir(_ path: Bytes) { call("rmdir(\(path))") { Glibc.rmdir(path.cString) } }

  func unlink(_ path: Bytes) { call("unlink(\(path))") { Glibc.unlink(path.cString) } }

  func rename(_ from: Bytes, _ to: Bytes, _ flags: UInt32 = 0) {
    let words = flagNames(
      Int32(bitPattern: flags), ["NOREPLACE": 1, "EXCHANGE": 2, "WHITEOUT": 4])
    call("rename(\(from), \(to), \(words))") {
      clinux_renameat2(AT_FDCWD, from.cString, AT_FDCWD, to.cString, flags)
    }
  }

  func link(_ from: Bytes, _ to: Bytes, _ flags: Int32 = 0) {
    let words = flagNames(flags, ["FOLLOW": AT_SYMLINK_FOLLOW])
    call("link(\(from), \(to), \(words))") {
      linkat(AT_FDCWD, from.cString, AT_FDCWD, to.cString, flags)
    }
  }

  /// Gives an open file, such as one of `O_TMPFILE`, a name; by AT_EMPTY_PATH or by /proc.
  func link(_ file: Descriptor, _ to: Bytes, byProc: Bool = false) {
    if byProc {
      call("linkat(proc \(file.label), \(to))") {
        linkat(
          AT_FDCWD, "/proc/thread-self/fd/\(file.raw)", AT_FDCWD, to.cString, AT_SYMLINK_FOLLOW)
      }
    } else {
      call("linkat(\(file.label), \(to))") {
        linkat(file.raw, "", AT_FDCWD, to.cString, AT_EMPTY_PATH)
      }
    }
  }

  func symlink(_ content: Bytes, _ path: Bytes) {
    call("symlink(\(content), \(path))") { Glibc.symlink(content.cString, path.cString) }
  }

  func readlink(_ path: Bytes, room: Int = 5000) {
    var buffer = [CChar](repeating: 0, count: room)
    let text = room == 5000 ? "readlink(\(path))" : "readlink(\(path), room \(room))"
    buffer.withUnsafeMutableBufferPointer { bytes in
      _ = call(
        text,
        shows: { "\($0) \(Bytes(bytes.prefix($0).map { UInt8(bitPattern: $0) }))" },
        { bytes.baseAddress.map { Glibc.readlink(path.cString, $0, room) } ?? -1 })
    }
  }

  /// `mode` with the kind (`S_IFIFO`, ...); `device` is major and minor.
  @discardableResult
  func mknod(_ path: Bytes, _ mode: UInt32, _ device: (UInt32, UInt32) = (0, 0)) -> Int {
    let number = UInt((device.0 & 0xfff) << 8 | device.1 & 0xff)
    return call("mknod(\(path), \(octal(mode)), \(device.0):\(device.1))") {
      Glibc.mknod(path.cString, mode, dev_t(number))
    }
  }

  /// A socket, as `bind` makes it; the descriptor is closed again.
  func bindSocket(_ path: Bytes) {
    let file = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { Glibc.close(file) }
    withAddress(path) { address, size in
      _ = call("bind(\(path))") { bind(file, address, size) }
    }
  }

  /// Two sockets that meet at a name; what one sends the other receives.
  func meetAt(_ path: Bytes) {
    let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let client = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer {
      Glibc.close(server)
      Glibc.close(client)
    }
    withAddress(path) { address, size in
      call("bind(\(path))") { bind(server, address, size) }
      call("bind(\(path)) again") { bind(client, address, size) }
      call("listen(\(path))") { listen(server, 1) }
      _ = call("connect(\(path))") { connect(client, address, size) }
    }
    var byte = UInt8(7)
    call("send") { Glibc.send(client, &byte, 1, Int32(MSG_NOSIGNAL)) }
    let accepted = accept4(server, __SOCKADDR_ARG(), nil, 0)
    defer { Glibc.close(accepted) }
    call("recv") { recv(accepted, &byte, 1, Int32(MSG_DONTWAIT)) }
  }

  private func withAddress(_ path: Bytes, _ body: (__CONST_SOCKADDR_ARG, socklen_t) -> Void) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.bytes.prefix(107)) }
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body(__CONST_SOCKADDR_ARG(__sockaddr__: $0), socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }

  /// The names and kinds in a directory, sorted.
  func names(in path: Bytes) {
    guard let stream = opendir(path.cString) else {
      let code = errno
      return note("opendir(\(path)) = \(errorName(code))")
    }
    defer { closedir(stream) }
    var found: [String] = []
    while let entry = Glibc.readdir(stream) { found.append(describe(entry)) }
    found.sort()
    if found.count > 30 {
      note("names(\(path)) = \(found.count), #\(checksum(found.joined(separator: "/").utf8))")
    } else {
      note("names(\(path)) = \(found.joined(separator: " "))")
    }
  }
}

/// A name and its kind, as `readdir` gives them; whether the kind is given at all differs.
func describe(_ entry: UnsafeMutablePointer<dirent>) -> String {
  let name = withUnsafePointer(to: &entry.pointee.d_name) {
    $0.withMemoryRebound(to: CChar.self, capacity: 256) { pointer in
      Bytes((0..<strlen(pointer)).map { UInt8(bitPattern: pointer[$0]) })
    }
  }
  let kinds: [UInt8: String] = [1: "p", 2: "c", 4: "/", 6: "b", 8: "", 10: "@", 12: "="]
  return "\(name)\(kinds[entry.pointee.d_type] ?? "?")"
}
