import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// `sidecarfs run`: the command is as it would be without us, but for the attributes, and nothing
/// is left behind.
@Suite(.needsFuse, .serialized) struct CommandRun {
  let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  func runs(
    _ command: String..., as user: User? = nil, input: [UInt8] = []
  ) throws -> Outcome {
    try TestSupport.run(
      [fixture.binary, "run", fixture.source, "--"] + command, in: fixture.scratch.path, as: user,
      input: input)
  }

  /// Nothing mounted, no process, the store closed, no socket.
  func expectNothingLeft(
    store: String? = nil, at location: SourceLocation = #_sourceLocation
  ) throws {
    _ = try waiting(for: "the end of everything") {
      fixture.daemons().isEmpty && processes().isEmpty ? true : nil
    }
    let left = try mounts().filter {
      $0.path.hasPrefix(fixture.scratch.path) && $0.kind.hasPrefix("fuse")
    }
    #expect(left.isEmpty, sourceLocation: location)
    #expect(try fixture.isClosed(store), sourceLocation: location)
  }

  /// Processes that have the scratch directory in their environment.
  func processes() -> [String] {
    entries(of: "/proc").filter { name in
      guard Int32(name) != nil, let bytes = try? readFile("/proc/\(name)/environ") else {
        return false
      }
      return bytes.split(separator: 0).contains(
        Array("SIDECARFS_RUN=\(fixture.scratch.path)".utf8)[...])
    }
  }

  var marked: [String: String] { ["SIDECARFS_RUN": fixture.scratch.path] }

  @Test func statusPassesThrough() throws {
    for status: Int32 in [0, 1, 7, 32, 125, 255] {
      #expect(try runs("sh", "-c", "exit \(status)").status == status)
    }
    for signal: Int32 in [SIGKILL, SIGTERM, SIGINT, SIGPIPE] {
      #expect(try runs("sh", "-c", "kill -\(signal) $$").status == 128 + signal)
    }
    try expectNothingLeft()
    expectRefusal(try runs("no-such-program"), 127, "no-such-program", "PATH")
    let script = try fixture.scratch.file("script", "exit 0\n")
    let refused = try runs(script)
    #expect(
      refused.status == 126
        && refused.errorText == "sidecarfs: run: \(script): Permission denied; make it executable\n"
    )
    #expect(try runs(fixture.scratch.path).status == 126)
    try expectNothingLeft()
  }

  @Test func attributesAreThereAndStay() throws {
    let file = fixture.source + "/file"
    #expect(try runs("setfattr", "-n", "user.a", "-v", "1", file).status == 0)
    #expect(
      try runs("getfattr", "--absolute-names", "--only-values", "-n", "user.a", file).text == "1")
    // Outside there is none.
    #expect(try run(["getfattr", "-n", "user.a", file]).status == 1)
    try expectNothingLeft()
  }

  @Test func streamsAndDescriptorsPassThrough() throws {
    let input = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    let outcome = try runs("sh", "-c", "cat; echo trouble >&2", input: input)
    #expect(outcome.output == input && outcome.errorText == "trouble\n")
    let text = try check([
      "sh", "-c", "exec 5<\"$1/file\"; exec \"$0\" run \"$1\" -- sh -c 'cat <&5'", fixture.binary,
      fixture.source,
    ])
    #expect(text == "text\n")
    // Ours do not reach it.
    let listing = try runs("sh", "-c", "ls /proc/$$/fd")
    #expect(listing.text == (try check(["sh", "-c", "ls /proc/$$/fd"])))
  }

  /// What a program inherits when it is started by us, and when it is not.
  @Test func processIsAsWithoutUs() throws {
    let look = """
      import os, resource, signal
      print([str(signal.getsignal(s)) for s in sorted(signal.valid_signals()) if s < 32])
      print(signal.pthread_sigmask(signal.SIG_BLOCK, []), os.getpgrp() == int(os.environ["GROUP"]))
      print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_CORE))
      print(os.getcwd(), os.umask(0), os.getuid(), os.getgid(), os.getgroups(), os.getsid(0))
      print(open("/proc/self/oom_score_adj").read())
      """
    let script = try fixture.scratch.file("look.py", look)
    for before in [
      "", "trap '' PIPE HUP; ", "trap '' CHLD; umask 027; ulimit -n 300; ",
    ] {
      let ours = "\(before)export GROUP=$$; cd inner; exec \"$0\" run .. -- python3 \(script)"
      let native = "\(before)export GROUP=$$; cd inner; exec python3 \(script)"
      // In a session of its own, so that the number of the group is that of the shell.
      let with = try check(["setsid", "-w", "sh", "-c", ours, fixture.binary], in: fixture.source)
      let without = try check(["setsid", "-w", "sh", "-c", native], in: fixture.source)
      func comparable(_ text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.prefix { $0 != "]" } }
      }
      #expect(comparable(with) == comparable(without), "after: \(before)")
    }
    let blocked = """
      import os, signal, sys
      signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2, signal.SIGTERM])
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let show = "import signal; print(sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])))"
    let mask = try check([
      "python3", "-c", blocked, fixture.binary, "run", fixture.source, "--", "python3", "-c", show,
    ])
    #expect(mask == "[<Signals.SIGUSR2: 12>, <Signals.SIGTERM: 15>]\n")
    #expect(try runs("sh", "-c", "yes | head -1").text == "y\n")
    #expect(try runs("sh", "-c", "yes | head -1").errors.isEmpty)
  }

  @Test func workingDirectoryGoesThroughTheMount() throws {
    for (place, directory, file) in [
      (fixture.source, ".", "file"), (fixture.source + "/inner", "..", "../file"),
      (fixture.scratch.path, fixture.source, "ramfs/source/file"),
    ] {
      let outcome = try run(
        [
          fixture.binary, "run", directory, "--", "sh", "-c",
          "setfattr -n user.here -v \"$PWD\" \"$0\" && getfattr --only-values -n user.here \"$0\"",
          file,
        ], in: place)
      #expect(outcome.status == 0 && outcome.text == place, "\(outcome.errorText)")
    }
    try expectNothingLeft()
  }

  @Test func nothingIsSeenOutside() throws {
    let child = try Child(
      [
        fixture.binary, "run", fixture.source, "--", "sh", "-c",
        "touch \"$0/ready\"; exec sleep 60",
        fixture.source,
      ], environment: marked, files: [0, 1, 2])
    _ = try waiting(for: "the command") {
      entries(of: fixture.source).contains("ready") ? true : nil
    }
    #expect(try mounts().allSatisfy { !$0.path.hasPrefix(fixture.source) })
    #expect(entries(of: fixture.source).contains(".sidecarfs"))
    expectRefusal(try fixture.sidecarfs("status", fixture.source), 32, "not a mount")
    // One store, one at a time; another directory is another store.
    expectRefusal(try runs("true"), 125, "in use", fixture.source)
    let other = fixture.memory.path + "/other"
    try call(mkdir(other, 0o755))
    #expect(try run([fixture.binary, "run", other, "--", "true"]).status == 0)
    kill(child.pid, SIGTERM)
    #expect(try child.wait(within: .seconds(20)) == 128 + SIGTERM)
    try expectNothingLeft()
  }

  @Test func commandMayUnmount() throws {
    let outcome = try runs("sh", "-c", "umount \"$0\"; echo \"$?\"; exit 4", fixture.source)
    #expect(outcome.status == 4 && outcome.text == "0\n")
    try expectNothingLeft()
  }

  @Test func ordinaryUser() throws {
    let nobody = CommandFixture.nobody
    let mine = try fixture.directory("mine", of: nobody)
    let outcome = try run(
      [
        fixture.binary, "run", mine, "--", "sh", "-c",
        """
        id -u; id -g
        setfattr -n user.root -v 1 "$0" || exit
        touch "$0/f" && setfattr -n user.a -v 2 "$0/f" && stat -c %u:%g "$0/f"
        getfattr --absolute-names --only-values -n user.root "$0"
        getfattr --absolute-names --only-values -n user.a "$0/f"
        """, mine,
      ], as: nobody)
    #expect(outcome.status == 0, "\(outcome.errorText)")
    #expect(outcome.text == "65534\n65534\n65534:65534\n12")
    try expectNothingLeft(store: mine + "/.sidecarfs")
    // In a directory that is not his, with a store that is.
    let place = try fixture.directory("place", of: nobody)
    let theirs = try run(
      [
        fixture.binary, "run", "--store", place, fixture.source, "--", "cat",
        fixture.source + "/file",
      ],
      as: nobody)
    #expect(theirs.status == 0 && theirs.text == "text\n", "\(theirs.errorText)")
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
  }

  @Test func optionsAreThoseOfMount() throws {
    let file = fixture.source + "/file"
    let place = fixture.scratch.path("place")
    let readOnly = try run([
      fixture.binary, "run", "-r", "--store", place, fixture.source, "--", "setfattr", "-n",
      "user.a",
      "-v", "1", file,
    ])
    #expect(readOnly.status == 1 && readOnly.errorText.contains("Read-only file system"))
    let traced = try run([
      fixture.binary, "run", "--debug", "--store", place, fixture.source, "--", "cat", file,
    ])
    #expect(traced.text == "text\n" && traced.errorText.contains("lookup 1 file = ok"))
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
  }
}
