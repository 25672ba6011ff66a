import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// `sidecarfs run`: the command is as it would be without us, but for the attributes, and nothing
/// is left behind.
@Suite(.needsFuse, .serialized) struct CommandRun {
  private let fixture: CommandFixture
  init() throws { fixture = try CommandFixture() }

  private func runs(
    _ command: String..., as user: User? = nil, input: [UInt8] = []
  ) throws -> Outcome {
    try TestSupport.run(
      [fixture.binary, "run", fixture.source, "--"] + command, in: fixture.scratch.path, as: user,
      input: input)
  }

  /// Nothing mounted, no process, the store closed, no socket.
  private func expectNothingLeft(
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
  private func processes() -> [String] {
    entries(of: "/proc").filter { name in
      guard Int32(name) != nil, let bytes = try? readFile("/proc/\(name)/environ") else { return false }
      return bytes.split(separator: 0).contains(Array("SIDECARFS_RUN=\(fixture.scratch.path)".utf8)[...])
    }
  }

  private var marked: [String: String] { ["SIDECARFS_RUN": fixture.scratch.path] }

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
    #expect(refused.status == 126 && refused.errorText == "sidecarfs: run: \(script): Permission denied; make it executable\n")
    #expect(try runs(fixture.scratch.path).status == 126)
    try expectNothingLeft()
  }

  @Test func attributesAreThereAndStay() throws {
    let file = fixture.source + "/file"
    #expect(try runs("setfattr", "-n", "user.a", "-v", "1", file).status == 0)
    #expect(try runs("getfattr", "--absolute-names", "--only-values", "-n", "user.a", file).text == "1")
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
      [fixture.binary, "run", fixture.source, "--", "sh", "-c", "touch \"$0/ready\"; exec sleep 60",
        fixture.source], environment: marked, files: [0, 1, 2])
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

  @Test(arguments: [SIGTERM, SIGINT, SIGHUP, SIGQUIT]) func signalsReachTheCommand(
    _ signal: Int32
  ) throws {
    let out = fixture.scratch.path("out")
    let child = try Child(
      [
        fixture.binary, "run", fixture.source, "--", "python3", "-c",
        """
        import os, signal, sys, time
        def caught(number, frame):
            os.setxattr(sys.argv[1] + "/file", "user.caught", b"1")
            open(sys.argv[2], "a").write(f"{number}\\n")
            if number == signal.SIGUSR2: sys.exit(9)
        for number in sys.argv[3:]: signal.signal(int(number), caught)
        open(sys.argv[2], "a").write("ready\\n")
        while True: time.sleep(0.01)
        """, fixture.source, out, "\(signal)", "\(SIGUSR2)",
      ], environment: marked, files: [0, 1, 2])
    func lines() -> [Substring] {
      String(decoding: (try? readFile(out)) ?? [], as: UTF8.self).split(separator: "\n")
    }
    _ = try waiting(for: "the command") { lines() == ["ready"] ? true : nil }
    kill(child.pid, signal)
    _ = try waiting(for: "the signal") { lines() == ["ready", "\(signal)"] ? true : nil }
    kill(child.pid, signal)
    _ = try waiting(for: "the signal") { lines().count == 3 ? true : nil }
    child.signal(SIGKILL)
    try child.wait(within: .seconds(20))
    try expectNothingLeft()
  }

  /// Keys of a terminal: once to the command, and the mount outlives it.
  @Test func interruptFromATerminal() throws {
    let out = fixture.scratch.path("out")
    let command = try fixture.scratch.file(
      "command",
      """
      trap 'setfattr -n user.caught -v 1 "$1/file" && echo caught >> "$2"; n=$((n + 1))' INT
      [ -t 0 ] && [ -t 1 ] && [ -t 2 ] && echo ready >> "$2"
      while [ -z "$n" ]; do sleep 0.02; done
      sleep 0.3
      echo "$n" >> "$2"
      exit 5
      """)
    let typed = """
      (
        until [ -s "$OUT" ]; do sleep 0.02; done
        printf '\\003'
        until [ "$(wc -l < "$OUT")" -ge 3 ]; do sleep 0.02; done
      ) | script -qec "$BINARY run $SOURCE -- sh $COMMAND $SOURCE $OUT" /dev/null > /dev/null
      """
    let outcome = try run(
      ["sh", "-c", typed],
      environment: [
        "OUT": out, "BINARY": fixture.binary, "SOURCE": fixture.source, "COMMAND": command,
      ])
    #expect(outcome.status == 5, "\(outcome.errorText)")
    #expect(try String(decoding: readFile(out), as: UTF8.self) == "ready\ncaught\n1\n")
    try expectNothingLeft()
  }

  /// The three processes: in front, serving, the command.
  private func three(of front: Int32) throws -> (server: Int32, command: Int32) {
    func child(of parent: Int32) throws -> Int32 {
      let path = "/proc/\(parent)/task/\(parent)/children"
      return try waiting(for: "a child of \(parent)") {
        String(decoding: try readFile(path), as: UTF8.self).split(separator: " ").first.flatMap { Int32($0) }
      }
    }
    let server = try child(of: front)
    return (server, try child(of: server))
  }

  private enum Victim: String, CaseIterable { case front, server, command }

  /// With children of the command in front and in the background, one of them in a session of its
  /// own.
  @Test(arguments: ["front", "server", "command"]) func killingLeavesNothing(_ name: String) throws {
    let victim = try #require(Victim(rawValue: name))
    let child = try Child(
      [
        fixture.binary, "run", fixture.source, "--", "sh", "-c",
        """
        cd "$0"
        sleep 300 & setsid sleep 301 & (setsid sh -c 'sleep 302 & wait' &)
        setfattr -n user.a -v 1 file && touch ready
        sleep 303
        """, fixture.source,
      ], environment: marked, files: [0, 1, 2])
    _ = try waiting(for: "the command") {
      entries(of: fixture.source).contains("ready") && processes().count >= 8 ? true : nil
    }
    let (server, command) = try three(of: child.pid)
    let number: Int32
    switch victim {
    case .front: number = child.pid
    case .server: number = server
    case .command: number = command
    }
    kill(number, SIGKILL)
    let status = try child.wait(within: .seconds(20))
    #expect(status == (victim == .server ? 125 : 128 + SIGKILL))
    if victim == .server {
      // Its store could not be closed; the next one looks through it.
      _ = try waiting(for: "the end of everything") { processes().isEmpty ? true : nil }
      #expect(try runs("true").status == 0)
    }
    try expectNothingLeft()
    let value = try runs(
      "getfattr", "--absolute-names", "--only-values", "-n", "user.a", fixture.source + "/file")
    #expect(value.text == "1")
  }

  @Test func backgroundProcessesEndWithTheCommand() throws {
    let outcome = try run(
      [
        fixture.binary, "run", fixture.source, "--", "sh", "-c",
        """
        cd "$0"
        (trap 'setfattr -n user.last -v words file; exit' TERM; echo > ready; while :; do sleep 0.01; done) &
        (trap '' TERM; exec sleep 300) &
        until [ -e ready ]; do sleep 0.01; done
        exit 3
        """, fixture.source,
      ], environment: marked)
    #expect(outcome.status == 3)
    #expect(processes().isEmpty)
    try expectNothingLeft()
    // One that was asked to end could still use the mount.
    #expect(
      try runs("getfattr", "--absolute-names", "--only-values", "-n", "user.last", fixture.source + "/file")
        .text == "words")
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
      [fixture.binary, "run", "--store", place, fixture.source, "--", "cat", fixture.source + "/file"],
      as: nobody)
    #expect(theirs.status == 0 && theirs.text == "text\n", "\(theirs.errorText)")
    #expect(entries(of: fixture.source).sorted() == ["file", "inner", "link"])
  }

  @Test func optionsAreThoseOfMount() throws {
    let file = fixture.source + "/file"
    let place = fixture.scratch.path("place")
    let readOnly = try run([
      fixture.binary, "run", "-r", "--store", place, fixture.source, "--", "setfattr", "-n", "user.a",
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
