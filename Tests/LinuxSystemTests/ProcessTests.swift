import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

/// Children, sockets and pipes.
@Suite struct ProcessesAndSockets {
  @Test func programsAreRunAndTheirErrorsRead() throws {
    let words = ["sh", "-c", "echo trouble >&2; exit 7"].map { FileName($0) }
    let ended = try Processes.run(words)
    #expect(ended.status == 7 && ended.errors == Array("trouble\n".utf8))
    #expect(try Processes.run(["sh", "-c", "kill -9 $$"].map { FileName($0) }).status == 137)
    #expect(throws: Errno.noEntry) { try Processes.run([FileName("/nowhere/at/all")]) }
    #expect(throws: Errno.noEntry) { try Processes.run([]) }
  }

  @Test func endingsAreToldApart() throws {
    for (script, expected) in [
      ("exit 0", Processes.Ending.exited(0)), ("exit 255", .exited(255)),
      ("exit 137", .exited(137)),
      ("kill -9 $$", .killed(signal: 9)),
    ] {
      // Not the tests' own children, which want to be waited for by themselves.
      let words: [String] = ["sh", "-c", script]
      let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
      defer { for argument in arguments { free(argument) } }
      var child: pid_t = 0
      let result = posix_spawnp(&child, "sh", nil, nil, arguments, environ)
      try #require(result == 0)
      let ending = try waiting(for: script) { try Processes.poll(child) }
      #expect(ending == expected)
      #expect(throws: Errno(ECHILD)) { try Processes.poll(child) }
    }
    #expect(Processes.Ending.exited(137).status == Processes.Ending.killed(signal: 9).status)
  }

  @Test func childrenAreListed() throws {
    let child = try Child(["sleep", "60"], files: [0, 1, 2])
    #expect(try Processes.children().contains(child.pid))
    #expect(Processes.exists(child.pid))
    child.signal(SIGKILL)
    try child.wait(within: .seconds(10))
    #expect(try !Processes.children().contains(child.pid))
    #expect(!Processes.exists(child.pid))
  }

  @Test func socketsCarryBytesUntilTheEnd() throws {
    let scratch = try Scratch()
    let path = FileName(scratch.path("socket"))
    #expect(throws: Errno.noEntry) { _ = try LocalSocket.connect(to: path) }
    let listening = try LocalSocket.listen(at: path)
    #expect(try !listening.waitUntilReadable(milliseconds: 0))
    let client = try LocalSocket.connect(to: path)
    let served = try listening.accept()
    try client.write("question".utf8)
    #expect(try served.waitUntilReadable(milliseconds: 5000))
    #expect(try served.readSome(count: 4) == Array("ques".utf8))
    try client.close()
    #expect(try served.readUntilClosed() == Array("tion".utf8))
    // An error, and not the end of the process.
    #expect(throws: Errno(EPIPE)) { try served.send("answer".utf8) }
    try listening.close()
    #expect(throws: Errno.connectionRefused) { _ = try LocalSocket.connect(to: path) }
  }

  @Test func pathsOfSocketsAreShort() throws {
    let scratch = try Scratch()
    let room = 107 - scratch.path("").utf8.count
    let fits = FileName(scratch.path(String(repeating: "x", count: room)))
    _ = try LocalSocket.listen(at: fits)
    let tooLong = FileName(scratch.path(String(repeating: "y", count: room + 1)))
    #expect(!LocalSocket.takes(tooLong))
    #expect(throws: Errno.nameTooLong) { _ = try LocalSocket.listen(at: tooLong) }
    #expect(throws: Errno.nameTooLong) { _ = try LocalSocket.connect(to: tooLong) }
  }

  @Test func processorsAreCounted() throws {
    for (list, count) in [("0\n", 1), ("0-3\n", 4), ("0,2-3,8-11\n", 7), ("0-1048575", 1 << 20)] {
      #expect(try Processes.processors(in: Array(list.utf8)) == count, "\(list)")
    }
    for list in ["", "\n", "x", "-", "-1", "1-", "3-0", "0-1-2", "0-99999999", "0--1", "0-\u{7f}"] {
      #expect(throws: Errno.invalidArgument, "\(list)") {
        try Processes.processors(in: Array(list.utf8))
      }
    }
    #expect(try Processes.possibleProcessors() >= Processes.processorCount)
  }

  @Test func signalsWait() throws {
    let none = "SigQ:\t0/1\nSigPnd:\t0000000000000000\nShdPnd:\t0000000000000000\n"
    #expect(!PendingSignals.exist(in: Array((none + "SigBlk:\t0000000000000000\n").utf8)))
    for field in ["SigPnd", "ShdPnd"] {
      let status = none.replacing(
        "\(field):\t0000000000000000", with: "\(field):\t0000000000002000")
      for (blocked, isSeen) in [("0000000000000000", true), ("0000000000002000", false)] {
        let text = status + "SigBlk:\t\(blocked)\n"
        #expect(PendingSignals.exist(in: Array(text.utf8)) == isSeen, "\(text)")
      }
    }
    // Of a thread that lets one wait, and of nobody.
    let seen = onThread {
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, SIGUSR2)
      pthread_sigmask(SIG_BLOCK, &set, nil)
      pthread_kill(pthread_self(), SIGUSR2)
      let blocked = PendingSignals.exist(for: Int32(gettid()))
      var number: Int32 = 0
      sigwait(&set, &number)
      return blocked
    }
    #expect(!seen, "it is blocked")
    #expect(!PendingSignals.exist(for: 0) && !PendingSignals.exist(for: Int32.max))
  }
}
