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
}
