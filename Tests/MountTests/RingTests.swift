import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Requests that come by io_uring: all of them arrive and are answered, whatever their size and
/// however long they take, and where they cannot come so, they come as ever.
@Suite(.needsFuse, .needsRing) struct RingTests {
  /// Not passed by, so that reads and writes come as well.
  private static let options = ["-o", "io_uring", "--without", "passthrough"]

  /// The largest of everything, and one of what has a form of its own.
  @Test(arguments: [SourceKind.ramfs, .tmpfs]) func everySize(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: Self.options, in: scratch)
    #expect(try features(of: mount).contains("io_uring"))
    let root = mount.mountPoint
    // More than fits into one request, from an odd place on.
    let content = (0..<(3 << 20) + 4099).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 12) }
    try writeFile(root + "/big", content)
    #expect(try readFile(source.path + "/big") == content)
    #expect(try readFile(root + "/big") == content)
    let file = try call(open(root + "/big", O_RDWR | O_CLOEXEC))
    #expect(pwrite(file, Array(content[5..<1_500_000]), 1_499_995, 12_345) == 1_499_995)
    var part = [UInt8](repeating: 0, count: 1_499_995)
    #expect(pread(file, &part, part.count, 12_345) == part.count)
    #expect(part[...] == content[5..<1_500_000])
    #expect(pread(file, &part, 100, off_t(content.count) - 3) == 3)
    close(file)

    for count in [0, 1, 4096, 65_535, 65_536] {
      let value = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      try call(setxattr(root + "/big", "user.value", value, count, 0))
      var found = [UInt8](repeating: 1, count: 65_536)
      #expect(getxattr(root + "/big", "user.value", &found, found.count) == count)
      #expect(found[..<count] == value[...])
      #expect(getxattr(root + "/big", "user.value", nil, 0) == count)
    }
    #expect(getxattr(root + "/big", "user.none", nil, 0) == -1 && errno == ENODATA)

    let target = String(repeating: "t", count: 4095)
    try call(symlink(target, root + "/link"))
    var read = [CChar](repeating: 0, count: 5000)
    #expect(readlink(root + "/link", &read, read.count) == 4095)
    let longest = String(repeating: "n", count: 255)
    try call(mkdir("\(root)/\(longest)", 0o755))
    for number in 0..<3000 { try writeFile("\(root)/\(longest)/\(number)", []) }
    #expect(entries(of: "\(root)/\(longest)").count == 3000)
    try call(rename("\(root)/\(longest)", root + "/short"))
    if kind == .tmpfs {
      let nameless = try call(open(root, O_TMPFILE | O_RDWR | O_CLOEXEC, 0o600))
      #expect(pwrite(nameless, "x", 1, 0) == 1)
      close(nameless)
    }
    try mount.unmount()
    #expect(mount.printed.isEmpty, "\(mount.printed)")
  }

  /// As many waiters as any queue has threads, and then some, on each processor: others are served.
  @Test func waitersHoldNobodyUp() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: Self.options + ["--threads", "2"],
      in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let holder = try LockingProcess()
    let waiters = try (0..<12).map { _ in try LockingProcess() }
    for process in waiters + [holder] { _ = try process.ask("open f \(path)") }
    #expect(try holder.ask("flock f ex") == "ok")
    for (number, process) in waiters.enumerated() {
      try check(["taskset", "-pc", "\(number % 2)", "\(process.child.pid)"])
      try process.sendWaiting("flock f ex wait")
    }
    for processor in ["0", "1"] {
      for number in 0..<10 {
        try check(
          ["taskset", "-c", processor, "touch", "\(mount.mountPoint)/\(number)"],
          timeout: .seconds(10))
      }
    }
    #expect(waiters.allSatisfy { !$0.hasAnswer })
    try mount.terminate(within: .seconds(10))
    for waiter in waiters { #expect(try waiter.answer() != "ok") }
  }

  /// Everybody is on one processor, all of its threads are waiting, and nobody asks for anything but
  /// the locks: the request that ends a wait is served.
  @Test func locksPassOn() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: Self.options + ["--threads", "2"],
      in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let processes = try (0..<8).map { _ in try LockingProcess() }
    for process in processes {
      _ = try process.ask("open f \(path)")
      try check(["taskset", "-pc", "0", "\(process.child.pid)"])
    }
    for round in 0..<20 {
      let kind = round % 2 == 0 ? "posix f w 0 0" : "flock f ex"
      let end = round % 2 == 0 ? "posix f u 0 0" : "flock f un"
      #expect(try processes[0].ask(kind) == "ok")
      for process in processes.dropFirst() { try process.send(kind + " wait") }
      #expect(try processes[0].ask(end) == "ok")
      var left = Array(processes.dropFirst())
      try waiting(for: "seven locks in turn") { () throws -> Void? in
        for (number, process) in left.enumerated().reversed() where process.hasAnswer {
          #expect(try process.answer() == "ok")
          #expect(try process.ask(end) == "ok")
          left.remove(at: number)
        }
        return left.isEmpty ? () : nil
      }
    }
    for process in processes { _ = try process.ask("close f") }
    try mount.unmount()
  }

  /// A signal ends a wait, however the threads that may serve it are occupied.
  @Test func waitsAreInterrupted() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: Self.options, in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let busy = try (0..<2).map { number in
      try Child(
        [
          "sh", "-c",
          "while :; do stat \(path)-$1 2>/dev/null; touch \(path)-$1; rm \(path)-$1; done",
          "sh", "\(number)",
        ], files: [2, 2, 2])
    }
    let holder = try LockingProcess()
    let waiter = try LockingProcess()
    for process in [holder, waiter] { _ = try process.ask("open f \(path)") }
    #expect(try holder.ask("flock f ex") == "ok")
    for _ in 0..<100 {
      try waiter.sendWaiting("flock f ex wait")
      waiter.child.signal(SIGALRM)
      #expect(try waiter.answer("an interrupted lock") == "EINTR")
    }
    for child in busy { child.signal(SIGKILL) }
    for child in busy { try child.wait(within: .seconds(10)) }
    for process in [holder, waiter] { _ = try process.ask("close f") }
    try mount.unmount()
  }

  /// What takes long and was not expected to, because what is below does not answer, holds up its
  /// own thread alone.
  @Test(arguments: transports) func slownessHoldsNobodyUp(_ transport: [String]) throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let inner = try Source(.tmpfs, in: scratch, named: "inner")
    try call(mkdir(source.path + "/inner", 0o755))
    let below = try Mount(
      inner.path, at: source.path + "/inner", store: scratch.directory("inner-store"), in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"),
      options: transport + ["--cache", "always"], in: scratch)
    try check(["stat", mount.mountPoint + "/inner"])
    below.signal(SIGSTOP)
    let stuck = try (0..<2).map {
      try Child(
        ["taskset", "-c", "0", "stat", "\(mount.mountPoint)/inner/\($0)"], files: [2, 2, 2])
    }
    defer { below.signal(SIGCONT) }
    for number in 0..<20 {
      try check(
        ["taskset", "-c", "0", "touch", "\(mount.mountPoint)/\(number)"], timeout: .seconds(10))
    }
    #expect(stuck.allSatisfy { $0.poll() == nil }, "they had to wait")
    below.signal(SIGCONT)
    for child in stuck { #expect(try child.wait(within: .seconds(10)) == 1, "no such file") }
    try mount.unmount()
    try below.unmount()
  }

  private static let endings = ["unmount", "busy", "terminate", "kill", "abort"]

  /// Every way that a mount can end, while programs are at work in it: they get an answer, nothing
  /// hangs, and the daemon is gone.
  @Test(arguments: endings) func ends(_ way: String) throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: Self.options, in: scratch)
    let root = mount.mountPoint
    let pid = mount.pid
    try writeFile(root + "/open", Array("content".utf8))
    var status = stat()
    try call(stat(root, &status))
    let connection = status.st_dev & 0xff | (status.st_dev >> 12) & ~0xff
    let nothing = try call(open("/dev/null", O_RDWR | O_CLOEXEC))
    defer { close(nothing) }
    let workers = try (0..<4).map { number in
      try Child(
        [
          "sh", "-c",
          "while setfattr -n user.n -v $1 $0/open; do cat $0/open; touch $0/$1; rm $0/$1; done; exit 3",
          root, "\(number)",
        ], files: [nothing, nothing, nothing])
    }
    usleep(300_000)
    let file = way == "busy" ? try call(open(root + "/open", O_RDONLY | O_CLOEXEC)) : -1
    switch way {
    case "unmount": try check(["umount", "--lazy", root], timeout: .seconds(10))
    case "busy":
      try check(["umount", "--lazy", root], timeout: .seconds(10))
      var bytes = [UInt8](repeating: 0, count: 7)
      #expect(pread(file, &bytes, 7, 0) == 7)
      #expect(bytes == Array("content".utf8))
      close(file)
    case "terminate": try mount.terminate(within: .seconds(10))
    case "kill": try mount.kill()
    default:
      let control = try scratch.directory("control")
      try check(["mount", "-t", "fusectl", "fusectl", control])
      try writeFile("\(control)/\(connection)/abort", Array("1".utf8))
    }
    for worker in workers { #expect(try worker.wait(within: .seconds(20)) == 3) }
    try waiting(for: "the daemon's end", within: .seconds(20)) {
      mount.pid == 0 && access("/proc/\(pid)", F_OK) != 0 ? () : nil
    }
    TestSupport.unmount(root)
    // The store is whole, and the mount comes again.
    try mount.remount()
    #expect(try readFile(root + "/open") == Array("content".utf8))
    try mount.unmount()
  }

  /// Where rings are forbidden, who demands them is told so.
  @Test func forbidden() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let allowance = try RingAllowance()
    let command = [
      "python3", "-c", Self.withoutRings, try daemonBinary(), "mount", "-o", "io_uring",
      source.path, try scratch.directory("view"),
    ]
    let refused = try run(command, timeout: .seconds(20))
    #expect(entries(of: source.path).isEmpty, "nothing was made")
    #expect(refused.status == 32 && refused.errorText.contains("io_uring"), "\(refused)")
    withExtendedLifetime(allowance) {}
  }

  /// Where the kernel does not offer it: who demands it is told what to do, before anything is made.
  @Test func notOffered() throws {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let view = try scratch.directory("view")
    let allowance = try RingAllowance(false)
    let words = ["mount", "-o", "io_uring", source.path, view]
    let refused = try run([try daemonBinary()] + words, timeout: .seconds(20))
    #expect(refused.status == 32)
    #expect(refused.errorText.contains("echo Y > /sys/module/fuse/parameters/enable_uring"))
    #expect(refused.errorText.split(separator: "\n").count == 1, "\(refused.errorText)")
    #expect(entries(of: source.path).isEmpty)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    #expect(try !features(of: mount).contains("io_uring"))
    try mount.unmount()
    #expect(mount.printed.isEmpty)
    withExtendedLifetime(allowance) {}
  }

  /// Where it is offered, it is not used by itself, and can be refused after it was demanded.
  @Test(arguments: [[], ["-o", "io_uring,without=io_uring"]]) func refused(_ options: [String])
    throws
  {
    let scratch = try Scratch()
    let source = try Source(.tmpfs, in: scratch)
    let allowance = try RingAllowance()
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: options, in: scratch)
    #expect(try !features(of: mount).contains("io_uring"))
    try mount.unmount()
    withExtendedLifetime(allowance) {}
  }

  private func features(of mount: Mount) throws -> String {
    let text = try check([try daemonBinary(), "status", mount.mountPoint])
    return text.split(separator: "\n").first { $0.contains("features") }.map(String.init) ?? ""
  }

  /// Becomes the command that follows, for which io_uring_setup(2) fails with EPERM.
  private static let withoutRings = """
    import ctypes, os, struct, sys
    code = struct.pack("=HBBIHBBIHBBIHBBI", 0x20, 0, 0, 0, 0x15, 0, 1, 425, 6, 0, 0, 0x50001,
                       6, 0, 0, 0x7fff0000)
    buffer = ctypes.create_string_buffer(code)
    program = struct.pack("HP", 4, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0
    os.execvp(sys.argv[1], sys.argv[1:])
    """
}
