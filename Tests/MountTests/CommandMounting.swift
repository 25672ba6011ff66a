import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// `sidecarfs mount`: what it leaves behind, and what its options do.
@Suite(.needsFuse, .serialized) struct CommandMounting {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func set(_ name: String, on file: String, to value: String = "1") throws -> Outcome {
    try run(["setfattr", "-n", name, "-v", value, "--", file])
  }

  private func value(_ name: String, of file: String) throws -> String {
    try check(["getfattr", "--absolute-names", "--only-values", "-n", name, "--", file])
  }

  @Test func returnsWhenItCanBeUsed() throws {
    for round in 0..<50 {
      try check([
        "sh", "-c",
        """
        "$0" mount "$1" "$2" && setfattr -n user.round -v "$3" "$2/file" &&
        [ "$(getfattr --absolute-names --only-values -n user.round "$2/file")" = "$3" ] &&
        "$0" unmount "$2"
        """, fixture.binary, fixture.source, fixture.mountPoint, "\(round)",
      ])
      // Unmounting has waited for the end.
      #expect(fixture.daemons().isEmpty)
    }
    #expect(try fixture.isClosed())
  }

  @Test func theDaemonHasNothingOfItsParents() throws {
    // Files, pipes and a blocked signal to inherit; a terminal there is none.
    let text = try check(
      [
        "sh", "-c",
        """
        exec 3<inner 7<file 8>>file 9</dev/zero
        "$0" mount . "$1"
        """, fixture.binary, fixture.mountPoint,
      ], in: fixture.source)
    #expect(text.isEmpty)
    let daemon = try #require(fixture.daemons().first)
    let proc = "/proc/\(daemon)"
    func target(_ path: String) throws -> String { try check(["readlink", path]).trimmed }
    #expect(try target(proc + "/cwd") == "/")
    for number in 0...2 { #expect(try target(proc + "/fd/\(number)") == "/dev/null") }
    let place = fixture.source + "/.sidecarfs"
    for name in entries(of: proc + "/fd") where (Int(name) ?? 0) > 2 {
      let file = try target(proc + "/fd/\(name)")
      #expect(
        file == "/dev/fuse" || file == fixture.source || file == place
          || file.hasPrefix(place + "/") || file.hasPrefix("socket:")
          // libfuse's own, through which it splices.
          || file.hasPrefix("pipe:"), "\(file)")
    }
    // pid (comm) state ppid pgrp session tty_nr: a session of its own without a terminal.
    let stat = String(decoding: try readFile(proc + "/stat"), as: UTF8.self).split(separator: ")")
    let fields = try #require(stat.last).split(separator: " ")
    #expect(fields[3] == "\(daemon)" && fields[4] == "0")
    // What the system does with it when memory runs out, or it crashes, is not ours to say.
    #expect(try readFile(proc + "/oom_score_adj") == readFile("/proc/self/oom_score_adj"))
    func core(_ path: String) throws -> Substring? {
      String(decoding: try readFile(path), as: UTF8.self).split(separator: "\n")
        .first { $0.hasPrefix("Max core") }
    }
    #expect(try core(proc + "/limits") == core("/proc/self/limits"))
  }

  /// A shell's `$(...)` waits until nobody has the pipe open.
  @Test func substitutionReturns() throws {
    try check(
      [
        "sh", "-c", "out=$(\"$0\" mount \"$1\" \"$2\" 2>&1 3>&1) && [ -z \"$out\" ]",
        fixture.binary, fixture.source, fixture.mountPoint,
      ], timeout: .seconds(20))
    #expect(fixture.daemons().count == 1)
  }

  @Test func standardStreamsMayBeClosed() throws {
    try check([
      "sh", "-c", "exec <&- >&- 2>&-; exec \"$@\"", "sh", fixture.binary, "mount", fixture.source,
      fixture.mountPoint,
    ])
    #expect(try set("user.a", on: fixture.mountPoint + "/file").status == 0)
  }

  @Test func foregroundStaysAndDebugTraces() throws {
    let mount = try Mount(
      fixture.source, at: fixture.mountPoint, options: ["--debug", "--threads", "2"],
      in: fixture.scratch)
    try check(["stat", fixture.mountPoint + "/file"])
    #expect(try set("user.traced", on: fixture.mountPoint + "/file").status == 0)
    let lines = mount.printed.split(separator: "\n")
    #expect(lines.contains { $0.hasPrefix("lookup 1 file = ok") })
    #expect(lines.filter { $0.hasPrefix("setxattr ") && $0.contains("user.traced") }.count == 1)
    for line in lines { #expect(line.hasSuffix(" us)"), "\(line)") }
    try mount.unmount()
  }

  @Test(arguments: [["--read-only"], ["-r"], ["-o", "ro"], ["-o", "rw,ro"]])
  func readOnlyRefusesEverything(_ options: [String]) throws {
    _ = try fixture.mount()
    #expect(try set("user.a", on: fixture.mountPoint + "/file").status == 0)
    try check([fixture.binary, "unmount", fixture.mountPoint])
    try check([fixture.binary, "mount"] + options + [fixture.source, fixture.mountPoint])
    let file = fixture.mountPoint + "/file"
    for command in [
      ["setfattr", "-n", "user.b", "-v", "1", file], ["setfattr", "-x", "user.a", file],
      ["touch", file], ["mkdir", fixture.mountPoint + "/new"], ["rm", file],
      ["chmod", "600", file],
      ["ln", file, fixture.mountPoint + "/second"], ["mv", file, file + "2"],
      ["sh", "-c", "echo >> \"$0\"", file],
    ] {
      let outcome = try run(command)
      #expect(outcome.status != 0, "\(command)")
      #expect(outcome.errorText.contains("Read-only file system"), "\(command)")
    }
    #expect(try value("user.a", of: file) == "1")
  }

  @Test func optionsReachTheKernel() throws {
    try check([
      fixture.binary, "mount", "-o", "suid,dev,noexec,noatime", fixture.source, fixture.mountPoint,
    ])
    let entry = try #require(
      try Mounts.all().last { $0.mountPoint == FileName(fixture.mountPoint) })
    #expect(entry.type == "fuse.sidecarfs" && entry.source == FileName(fixture.source))
    for option in ["noexec", "noatime", "allow_other", "default_permissions", "rw"] {
      #expect(entry.options.contains(option), "\(option)")
    }
    for option in ["nosuid", "nodev", "ro"] {
      #expect(!entry.options.contains(option), "\(option)")
    }
    try check([fixture.binary, "unmount", fixture.mountPoint])
    try check([fixture.binary, "mount", fixture.source, fixture.mountPoint])
    let usual = try #require(
      try Mounts.all().last { $0.mountPoint == FileName(fixture.mountPoint) })
    for option in ["nosuid", "nodev"] { #expect(usual.options.contains(option), "\(option)") }
    for option in ["noexec", "noatime"] { #expect(!usual.options.contains(option), "\(option)") }
  }

  @Test func rootsMountServesEverybody() throws {
    _ = try fixture.mount()
    try check(["chown", "65534", fixture.mountPoint + "/file"])
    try check(
      ["setfattr", "-n", "user.a", "-v", "1", fixture.mountPoint + "/file"],
      as: CommandFixture.nobody)
    #expect(try value("user.a", of: fixture.mountPoint + "/file") == "1")
  }

  @Test func othersMountsServeThemAlone() throws {
    let mine = try fixture.directory("mine", of: CommandFixture.nobody)
    let view = try fixture.directory("their-view", of: CommandFixture.nobody)
    try check([fixture.binary, "mount", mine, view], as: CommandFixture.nobody)
    try check(["setfattr", "-n", "user.a", "-v", "1", view], as: CommandFixture.nobody)
    #expect(try run(["ls", view], as: User(65533)).errorText.contains("Permission denied"))
    try check([fixture.binary, "unmount", view], as: CommandFixture.nobody)
    #expect(try fixture.isClosed(mine + "/.sidecarfs"))
  }

  /// A line of fstab, and mount(8): both end at /sbin/mount.fuse3, which looks for us in PATH.
  @Test func mountingByTheSystemsOwnCommand() throws {
    let bin = try fixture.scratch.directory("bin")
    try call(symlink(fixture.binary, bin + "/sidecarfs"))
    let (source, view) = (fixture.source, fixture.mountPoint)
    let table = try fixture.scratch.file(
      "fstab", "\(source) \(view) fuse.sidecarfs defaults,noatime,nofail,x-a.b=c 0 0\n")
    let script = """
      mount --bind "$1" /usr/local/bin && shift
      mount "$@" || exit
      grep -F " $VIEW " /proc/self/mountinfo
      setfattr -n user.a -v 1 "$VIEW/file" || exit
      umount "$VIEW"
      """
    for words in [
      ["-t", "fuse.sidecarfs", source, view],
      ["-t", "fuse.sidecarfs", "-o", "noatime,cache=never", source, view],
      ["-T", table, view], ["-t", "fuse3", "sidecarfs#\(source)", view],
    ] {
      let text = try check(
        ["unshare", "--mount", "sh", "-c", script, "sh", bin] + words, environment: ["VIEW": view])
      #expect(text.contains("fuse.sidecarfs \(source) "), "\(text)")
      // umount(8) does not wait for the daemon.
      _ = try waiting(for: "the store to be closed") { try fixture.isClosed() ? true : nil }
      try fixture.awaitNoDaemon()
      try check([
        "sh", "-c", "rm -r \"$0\"", source + "/.sidecarfs",
      ])
    }
  }

  @Test func storeIsWhereItIsWanted() throws {
    _ = try fixture.scratch.directory("here")
    _ = try fixture.mount("--store", "here/a/b")
    let text = try check([fixture.binary, "status", "--json", fixture.mountPoint])
    #expect(text.contains("\"store\":\"\(fixture.scratch.path("here/a/b"))\""))
    try check([fixture.binary, "unmount", fixture.mountPoint])
    #expect(try fixture.isClosed(fixture.scratch.path("here/a/b")))
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
  }
}

/// Mounting over the source itself, with the store inside it.
@Suite(.needsFuse, .serialized) struct CommandOverItself {
  private let fixture: CommandFixture
  init() throws {
    fixture = try CommandFixture()
    _ = try fixture.mount(at: fixture.source)
  }

  @Test func storeStaysHidden() throws {
    let here = fixture.source
    #expect(entries(of: here).sorted() == ["file", "inner", "link"])
    func expect(
      _ command: [String], _ words: String, at location: SourceLocation = #_sourceLocation
    )
      throws
    {
      let outcome = try run(command, in: here)
      #expect(outcome.status != 0, sourceLocation: location)
      #expect(outcome.errorText.contains(words), "\(outcome.errorText)", sourceLocation: location)
    }
    try expect(["stat", ".sidecarfs"], "No such file")
    try expect(["cat", ".sidecarfs/store.db"], "No such file")
    try expect(["mkdir", ".sidecarfs"], "Operation not permitted")
    try expect(["touch", ".sidecarfs"], "Operation not permitted")
    try expect(["ln", "-s", "file", ".sidecarfs"], "Operation not permitted")
    try expect(["ln", "file", ".sidecarfs"], "Operation not permitted")
    try expect(["mv", "-T", "inner", ".sidecarfs"], "Operation not permitted")
    try expect(["rmdir", ".sidecarfs"], "No such file")
    try expect(["rm", "-r", ".sidecarfs"], "No such file")
    // The name is taken in the root alone.
    try check(["mkdir", "inner/.sidecarfs"], in: here)
    try check(["rmdir", "inner/.sidecarfs"], in: here)
    try check(["rmdir", "inner"], in: here)
    #expect(try check(["cat", "file"], in: here) == "text\n")
  }

  @Test func linksAreCountedWithoutIt() throws {
    let native = try fixture.scratch.directory("native")
    func links(_ path: String) throws -> String { try check(["stat", "-c", "%h", path]).trimmed }
    for number in 0..<3 {
      for place in [native, fixture.source] { try call(mkdir(place + "/d\(number)", 0o755)) }
      // ramfs counts like ext4; one directory was there before.
      let counted = try #require(Int(links(native)))
      #expect(try links(fixture.source) == "\(counted + 1)")
    }
  }

  @Test func everythingIsThereAgainAndTheStoreUnderneath() throws {
    try check(["setfattr", "-n", "user.a", "-v", "1", fixture.source + "/file"])
    try check(["setfattr", "-n", "user.root", "-v", "2", fixture.source])
    try check([fixture.binary, "unmount", fixture.source])
    #expect(try fixture.isClosed())
    #expect(entries(of: fixture.source).contains(".sidecarfs"))
    _ = try fixture.mount(at: fixture.source)
    for (name, file, value) in [("user.a", "/file", "1"), ("user.root", "", "2")] {
      let text = try check([
        "getfattr", "--absolute-names", "--only-values", "-n", name, fixture.source + file,
      ])
      #expect(text == value)
    }
  }
}
