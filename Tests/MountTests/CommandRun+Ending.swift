import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Signals, and whatever kills one of the processes.
extension CommandRun {
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
      import os, signal, sys, time
      caught = 0
      def interrupted(number, frame):
          global caught
          caught += 1
          os.setxattr(sys.argv[1] + "/file", "user.caught", b"1")
      def say(word): open(sys.argv[2], "a").write(f"{word}\\n")
      signal.signal(signal.SIGINT, interrupted)
      if all(map(os.isatty, range(3))): say("ready")
      while not caught: time.sleep(0.01)
      time.sleep(0.3)
      say(caught)
      sys.exit(5)
      """)
    // The user in front of the terminal: types the key once the command is ready, then reads.
    let user = try fixture.scratch.file(
      "user",
      """
      import os, pty, sys, time
      out, words = sys.argv[1], sys.argv[2:]
      process, terminal = pty.fork()
      if process == 0: os.execvp(words[0], words)
      while not os.path.exists(out) or os.path.getsize(out) == 0: time.sleep(0.01)
      os.write(terminal, b"\\x03")
      try:
          while text := os.read(terminal, 4096): sys.stdout.buffer.write(text)
      except OSError: pass
      print(os.waitpid(process, 0)[1])
      """)
    let outcome = try run(
      [
        "python3", user, out, fixture.binary, "run", fixture.source, "--", "python3", command,
        fixture.source, out,
      ], environment: marked)
    #expect(outcome.text == "^C\(5 << 8)\n", "\(outcome.errorText)")
    #expect(try String(decoding: readFile(out), as: UTF8.self) == "ready\n1\n")
    try expectNothingLeft()
  }

  /// The three processes: in front, serving, the command.
  private func three(of front: Int32) throws -> (server: Int32, command: Int32) {
    func child(of parent: Int32) throws -> Int32 {
      let path = "/proc/\(parent)/task/\(parent)/children"
      return try waiting(for: "a child of \(parent)") {
        String(decoding: try readFile(path), as: UTF8.self).split(separator: " ").first.flatMap {
          Int32($0)
        }
      }
    }
    let server = try child(of: front)
    return (server, try child(of: server))
  }

  private enum Victim: String, CaseIterable { case front, server, command }

  /// With children of the command in front and in the background, one of them in a session of its
  /// own.
  @Test(arguments: ["front", "server", "command"]) func killingLeavesNothing(_ name: String) throws
  {
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
      try runs(
        "getfattr", "--absolute-names", "--only-values", "-n", "user.last", fixture.source + "/file"
      )
      .text == "words")
  }
}
