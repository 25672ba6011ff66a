import Glibc
import LinuxSystem
import TestSupport

/// A process of its own that takes locks as it is told.
final class LockingProcess: Sendable {
  let child: Child
  private let input: Int32
  private let output: Int32

  init() throws {
    var toChild: [Int32] = [0, 0]
    var fromChild: [Int32] = [0, 0]
    try call(pipe2(&toChild, O_CLOEXEC))
    try call(pipe2(&fromChild, O_CLOEXEC | O_NONBLOCK))
    input = toChild[1]
    output = fromChild[0]
    defer {
      close(toChild[0])
      close(fromChild[1])
    }
    let files = [toChild[0], fromChild[1], fromChild[1]]
    child = try Child([try daemonBinary(named: "Hammer"), "locks"], files: files)
  }

  deinit {
    close(input)
    close(output)
  }

  /// Whether the answer to the last command has come.
  var hasAnswer: Bool {
    var question = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    return poll(&question, 1, 0) > 0
  }

  /// Sends a command and waits for the answer.
  func ask(_ command: String) throws -> String {
    try send(command)
    return try answer(command)
  }

  /// Sends a command whose answer may take a while.
  func send(_ command: String) throws {
    let bytes = Array((command + "\n").utf8)
    try call(write(input, bytes, bytes.count))
  }

  /// The answer to the last command.
  func answer(_ what: String = "an answer", within limit: Duration = .seconds(10)) throws -> String
  {
    try waiting(for: what, within: limit) { () throws -> String? in
      var bytes = [UInt8](repeating: 0, count: 200)
      let count = read(output, &bytes, bytes.count)
      return count > 0 ? String(decoding: bytes.prefix(count - 1), as: UTF8.self) : nil
    }
  }

  /// Sends a command that has to wait; returns when the process sleeps in the kernel, or answers.
  func sendWaiting(_ command: String) throws {
    try send(command)
    try waiting(for: "sleep in \(command)") { () throws -> Void? in
      if hasAnswer { return () }
      let text = String(decoding: try readFile("/proc/\(child.pid)/wchan"), as: UTF8.self)
      return text.contains("pipe") || text == "0" || text.isEmpty ? nil : ()
    }
  }
}

/// Processes with locks on one file, and what they said.
final class LockScene {
  private let paths: [String]
  private var processes: [String: LockingProcess] = [:]
  private(set) var lines: [String] = []
  /// Whether who holds a lock belongs to the answer; not where one asks about another side's.
  private let showsHolders: Bool

  /// Process "a" opens the first path, "b" the second and so on, over again.
  init(_ paths: [String], showsHolders: Bool) {
    self.paths = paths
    self.showsHolders = showsHolders
  }

  subscript(_ name: String) -> LockingProcess {
    get throws {
      if let known = processes[name] { return known }
      let made = try LockingProcess()
      processes[name] = made
      let number = Int(name.utf8.first ?? 97) - 97
      _ = try made.ask("open f \(paths[number % paths.count])")
      _ = try made.ask("open g \(paths[number % paths.count])")
      return made
    }
  }

  /// A command and its answer.
  func say(_ name: String, _ command: String) throws {
    note("\(name) \(command)", try self[name].ask(command))
  }

  /// A command that waits until `release` is done.
  func wait(_ name: String, _ command: String, until release: () throws -> Void) throws {
    try self[name].sendWaiting(command)
    lines.append("\(name) \(command) waits")
    try release()
    note("\(name) \(command)", try self[name].answer(command))
  }

  /// Ends a process by SIGKILL.
  func kill(_ name: String) throws {
    try self[name].child.signal(SIGKILL)
    try self[name].child.wait(within: .seconds(10))
    processes[name] = nil
    lines.append("\(name) is killed")
  }

  private func note(_ command: String, _ answer: String) {
    guard let range = answer.firstRange(of: " of ") else {
      return lines.append("\(command) = \(answer)")
    }
    let holder = Int32(answer[range.upperBound...]) ?? 0
    let name = processes.first { $0.value.child.pid == holder }?.key ?? "nobody here"
    lines.append(
      "\(command) = \(answer[..<range.lowerBound])"
        + (showsHolders ? " of \(holder == -1 ? "an open file" : name)" : ""))
  }
}
