import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Locks between processes: those on a mount, and one on the mount with one underneath, answer as
/// they do on a native file system.
@Suite(.needsFuse) struct ConcurrencyLocks {
  @Test(arguments: [SourceKind.ramfs, .tmpfs], transports)
  func scenes(_ kind: SourceKind, _ transport: [String]) throws {
    let scratch = try Scratch()
    let native = try Source(.tmpfs, in: scratch, named: "native")
    let source = try Source(kind, in: scratch, named: "source")
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: transport, in: scratch)
    for (name, scene) in Self.scenes {
      func lines(_ directories: [String], _ showsHolders: Bool) throws -> [String] {
        let file = name.replacing(" ", with: "-")
        try writeFile("\(directories[0])/\(file)", Array("0123456789".utf8))
        let stage = LockScene(directories.map { "\($0)/\(file)" }, showsHolders: showsHolders)
        do {
          try scene(stage)
        } catch {
          Issue.record("\(name) in \(directories): \(stage.lines)")
          throw error
        }
        return stage.lines
      }
      func compare(_ found: [String], _ wanted: [String], _ what: String) {
        for (line, (found, wanted)) in zip(found, wanted).enumerated() where found != wanted {
          Issue.record("\(name), \(what), line \(line + 1): \(found); natively: \(wanted)")
        }
        #expect(found.count == wanted.count, "\(name), \(what)")
      }
      // The protocol does not tell an open file's lock from a process's: its holder is named.
      let showsHolders = name != "open files"
      let wanted = try lines([native.path], showsHolders)
      compare(try lines([mount.mountPoint], showsHolders), wanted, "on the mount")
      let mixed = try lines([native.path], false)
      compare(try lines([mount.mountPoint, source.path], false), mixed, "mount and source")
      compare(try lines([source.path, mount.mountPoint], false), mixed, "source and mount")
    }
    try mount.unmount()
  }

  /// Twenty wait, with two threads to serve them: whoever does not wait is served all the same.
  @Test(arguments: transports) func moreWaitersThanThreads(_ transport: [String]) throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--threads", "2"] + transport,
      in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let before = openFiles(mount).count
    let holder = try LockingProcess()
    let processes = try (0..<20).map { _ in try LockingProcess() }
    for process in processes + [holder] { _ = try process.ask("open f \(path)") }
    #expect(try holder.ask("posix f w 0 0") == "ok")
    #expect(try holder.ask("flock f ex") == "ok")
    for (number, process) in processes.enumerated() {
      try process.sendWaiting(number % 2 == 0 ? "posix f w 0 0 wait" : "flock f ex wait")
    }
    for number in 0..<20 {
      try check(["touch", "\(mount.mountPoint)/\(number)"], timeout: .seconds(10))
      try check(["stat", path], timeout: .seconds(10))
    }
    #expect(try holder.ask("posix f u 0 0") == "ok")
    #expect(try holder.ask("flock f un") == "ok")
    var left = processes
    try waiting(for: "twenty locks in turn", within: .seconds(30)) { () throws -> Void? in
      for (number, process) in left.enumerated().reversed() where process.hasAnswer {
        #expect(try process.answer() == "ok")
        _ = try process.ask("close f")
        left.remove(at: number)
      }
      return left.isEmpty ? () : nil
    }
    _ = try holder.ask("close f")
    try waiting(for: "descriptors to be closed") { () throws -> Void? in
      try dropCaches()
      return openFiles(mount).count <= before ? () : nil
    }
    try mount.unmount()
  }

  /// A try that fails leaves nothing open in the daemon when its file is closed.
  @Test func failedTriesLeaveNothing() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let holder = try LockingProcess()
    let other = try LockingProcess()
    _ = try holder.ask("open f \(path)")
    #expect(try holder.ask("ofd f w 0 0") == "ok")
    let before = openFiles(mount).count
    for _ in 0..<30 {
      _ = try other.ask("open f \(path)")
      #expect(try other.ask("ofd f w 0 0") == "EAGAIN")
      #expect(try other.ask("posix f w 0 0") == "EAGAIN")
      _ = try other.ask("close f")
    }
    try waiting(for: "descriptors to be closed") { openFiles(mount).count <= before ? () : nil }
    _ = try holder.ask("close f")
    try mount.unmount()
  }

  /// Whoever waits for a lock does not keep the daemon from ending.
  @Test func endingWhileSomebodyWaits() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    let path = mount.mountPoint + "/f"
    try writeFile(path, [])
    let holder = try LockingProcess()
    let waiter = try LockingProcess()
    for process in [holder, waiter] { _ = try process.ask("open f \(path)") }
    #expect(try holder.ask("flock f ex") == "ok")
    try waiter.sendWaiting("flock f ex wait")
    try mount.terminate(within: .seconds(10))
    #expect(try waiter.answer() != "ok")
    try mount.remount()
  }

  typealias Scene = @Sendable (LockScene) throws -> Void

  static let scenes: [(String, Scene)] = [
    (
      "ranges",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.say("b", "posix f r 20 10")
        try stage.say("c", "posix f w 40 10")
        try stage.say("b", "posix f w 5 1")
        try stage.say("b", "get f r 5 1")
        try stage.say("c", "get f w 0 0")
        try stage.say("c", "get f w 25 1")
        try stage.say("c", "get f r 25 1")
        try stage.say("a", "get f w 20 100")
        try stage.say("a", "get f w 45 1")
        try stage.say("c", "posix f r 25 100")
        try stage.say("b", "posix f w 25 1")
        try stage.say("a", "posix f u 3 4")
        try stage.say("b", "posix f w 3 4")
        try stage.say("a", "get f w 0 0")
        try stage.say("a", "posix f r 0 3")
        try stage.say("c", "posix f r 0 1")
        try stage.say("c", "get f w 0 1")
      }
    ),
    (
      "waiting",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.wait("b", "posix f w 5 1 wait") { try stage.say("a", "posix f u 0 10") }
        try stage.say("a", "posix f r 5 1")
        try stage.wait("a", "posix f r 0 0 wait") { try stage.say("b", "posix f u 0 0") }
        try stage.say("b", "posix f w 0 1")
        try stage.wait("b", "posix f w 0 1 wait") { try stage.say("a", "close g") }
        try stage.say("a", "posix f r 0 1")
      }
    ),
    (
      "interrupted",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.say("b", "alarm 300")
        try stage.say("b", "posix f w 5 1 wait")
        try stage.say("b", "posix f w 20 1")
        try stage.say("b", "flock f ex")
        try stage.say("a", "posix f u 0 0")
        try stage.say("b", "posix f w 5 1")
        try stage.say("a", "alarm 300")
        try stage.say("a", "flock f ex wait")
      }
    ),
    (
      "holders die",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.wait("b", "posix f w 0 1 wait") { try stage.kill("a") }
        try stage.say("b", "flock f ex")
        try stage.wait("c", "flock f sh wait") { try stage.kill("b") }
        try stage.say("c", "posix f w 0 0")
        try stage.say("c", "ofd g w 20 1")
        try stage.kill("c")
        // A file's end is told after the call that brought it.
        try stage.say("d", "posix f w 0 0 wait")
        try stage.say("d", "flock f ex wait")
      }
    ),
    (
      "waiters die",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.say("a", "flock f ex")
        try stage.wait("b", "posix f w 0 1 wait") {
          try stage["b"].child.signal(SIGALRM)
        }
        try stage["c"].sendWaiting("posix f w 0 1 wait")
        try stage.kill("c")
        try stage["d"].sendWaiting("flock f ex wait")
        try stage.kill("d")
        try stage.say("a", "posix f u 0 0")
        try stage.say("a", "flock f un")
        try stage.say("b", "posix f w 0 1")
        try stage.say("b", "flock f ex")
      }
    ),
    (
      "open files",
      { stage in
        try stage.say("a", "ofd f w 0 10")
        try stage.say("a", "ofd g w 0 10")
        try stage.say("a", "ofdget g w 0 10")
        try stage.say("a", "posix f w 0 1")
        try stage.say("b", "ofd f r 5 1")
        try stage.say("b", "get f r 5 1")
        try stage.say("a", "close g")
        try stage.say("b", "ofd f r 5 1")
        try stage.wait("b", "ofd f w 5 10 wait") { try stage.say("a", "close f") }
        try stage.say("b", "ofd g w 14 1")
        try stage.say("b", "ofd f u 0 0")
        try stage.say("b", "ofd g w 14 1")
        try stage.kill("b")
        try stage.say("c", "ofd f w 0 0 wait")
      }
    ),
    (
      "closing another",
      { stage in
        try stage.say("a", "posix f w 0 10")
        try stage.say("a", "flock f ex")
        try stage.say("b", "posix f w 0 1")
        try stage.say("a", "close g")
        try stage.say("b", "posix f w 0 1")
        try stage.say("b", "flock f sh")
        try stage.wait("b", "flock f sh wait") { try stage.say("a", "close f") }
      }
    ),
    (
      "whole files",
      { stage in
        try stage.say("a", "flock f sh")
        try stage.say("b", "flock f sh")
        try stage.say("b", "flock f ex")
        try stage.say("c", "flock f ex")
        try stage.wait("a", "flock f ex wait") { try stage.say("b", "flock f un") }
        try stage.wait("b", "flock f sh wait") { try stage.say("a", "flock f sh") }
        try stage.say("c", "flock f sh")
        try stage.say("c", "posix f w 0 1")
        try stage.say("a", "flock g ex")
      }
    ),
  ]
}
