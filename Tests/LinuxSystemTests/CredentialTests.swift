import CLinux
import Glibc
import TestSupport
import Testing

@testable import LinuxSystem

/// A thread that acts for somebody, as /proc sees it.
@Suite(.needsRoot) struct ThreadCredentials {
  private static let user = Credentials(
    uid: 4711, gid: 4712, groups: [4713, 4714], overridesPermissions: false)

  /// Lines of the calling thread's, or another's, status.
  private static func facts(of thread: Int32) throws -> [String: [String]] {
    let text = String(decoding: try readFile("/proc/self/task/\(thread)/status"), as: UTF8.self)
    return text.split(separator: "\n").reduce(into: [:]) { facts, line in
      let words = line.split { $0 == "\t" || $0 == " " }.map(String.init)
      if let name = words.first { facts[name] = Array(words.dropFirst()) }
    }
  }

  @Test func threadChangesAndComesBackAndOthersDoNotChange() throws {
    let (inside, after, others, made) = try onThread {
      Result { () throws -> ([String: [String]], [String: [String]], [[String: [String]]], stat) in
        let me = clinux_thread_id()
        let scratch = try Scratch()
        chmod(scratch.path, 0o777)
        var inside: [String: [String]] = [:]
        var others: [[String: [String]]] = []
        var failure: (any Error)?
        try withCredentials(Self.user) { () throws(Errno) in
          do {
            inside = try Self.facts(of: me)
            for name in entries(of: "/proc/self/task") {
              guard let thread = Int32(name), thread != me else { continue }
              // One that has ended meanwhile has nothing to tell.
              if let facts = try? Self.facts(of: thread) { others.append(facts) }
            }
            try scratch.file("theirs")
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
        var made = stat()
        stat(scratch.path("theirs"), &made)
        return (inside, try Self.facts(of: me), others, made)
      }
    }.get()
    // Real, effective, saved, for files: the saved one leads back.
    #expect(inside["Uid:"] == ["0", "4711", "0", "4711"])
    #expect(inside["Gid:"] == ["0", "4712", "0", "4712"])
    #expect(inside["Groups:"] == ["4713", "4714"])
    #expect(inside["CapEff:"] == ["0000000000000000"])
    #expect(after["Uid:"] == ["0", "0", "0", "0"] && after["Gid:"] == ["0", "0", "0", "0"])
    #expect(after["CapEff:"] == after["CapPrm:"])
    #expect(!others.isEmpty)
    for other in others { #expect(other["Uid:"]?.contains("4711") == false) }
    #expect(made.st_uid == 4711 && made.st_gid == 4712)
  }

  @Test func groupsStayWhenNoneAreNamed() throws {
    let groups = try onThread {
      Result { () throws(Errno) -> [[String]?] in
        var mine = Self.user
        mine.groups = nil
        let me = clinux_thread_id()
        let before = (try? Self.facts(of: me))?["Groups:"]
        let inside = try withCredentials(mine) { () throws(Errno) in
          Pair(first: (try? Self.facts(of: me))?["Groups:"])
        }
        return [before, inside.first]
      }
    }.get()
    #expect(groups[0] == groups[1])
  }

  private struct Pair { let first: [String]? }

  /// The permissions of a caller who may pass over mode bits, and no other of root's.
  @Test func overridingKeepsThreeCapabilities() throws {
    let text = try onThread {
      Result { () throws(Errno) -> String in
        var strong = Self.user
        strong.overridesPermissions = true
        let me = clinux_thread_id()
        return try withCredentials(strong) { () throws(Errno) in
          (try? Self.facts(of: me))?["CapEff:"]?.first ?? ""
        }
      }
    }.get()
    // capabilities(7) of this process may be fewer than all.
    let bits = UInt64(text, radix: 16)
    let status = try readFile("/proc/self/status")
    let all = try #require(ProcessPrivileges.effectiveCapabilities(in: status))
    #expect(bits == all & (1 << 1 | 1 << 2 | 1 << 27))
  }

  @Test func anErrorComesThroughAndTheThreadComesBack() throws {
    let (error, uid) = onThread { () -> (Errno?, UInt32) in
      var caught: Errno?
      do throws(Errno) {
        try withCredentials(Self.user) { () throws(Errno) in throw Errno.stale }
      } catch {
        caught = error
      }
      return (caught, geteuid())
    }
    #expect(error == .stale && uid == 0)
  }

  @Test func umaskIsTheThreadsOwn() throws {
    let modes = try onThread {
      Result { () throws(Errno) -> [UInt32] in
        try detachFileSystemState()
        let scratch = try Scratch()
        let before = umask(0o022)
        var modes: [UInt32] = []
        try withUmask(0o777_0077) { () throws(Errno) in
          _ = try FileDescriptor.open(
            FileName(scratch.path("file")), [.create, .writeOnly], mode: 0o666)
        }
        modes.append(UInt32(umask(before)))
        var status = stat()
        stat(scratch.path("file"), &status)
        modes.append(status.st_mode & 0o777)
        return modes
      }
    }.get()
    #expect(modes == [0o022, 0o600])
  }
}

/// What /proc tells of another process's rights.
@Suite struct Privileges {
  private func bits(_ text: String) -> UInt64? {
    ProcessPrivileges.effectiveCapabilities(in: Array(text.utf8))
  }

  @Test func setIsParsed() {
    #expect(bits("CapPrm:\t0000000000000001\nCapEff:\t000001ffffffffff\n") == 0x1ff_ffff_ffff)
    #expect(bits("CapEff:\t0000000000000000\n") == 0)
    for text in ["", "CapEff:\n", "CapEff:\tzz\n", "xCapEff:\t1\n", "CapEff:\t1ffffffffffffffff\n"]
    {
      #expect(bits(text) == nil)
    }
  }

  @Test func nobodyIsNobody() throws {
    for process in [0, -1, Int32.max] {
      #expect(try !ProcessPrivileges.has(capability: 21, pid: process))
    }
    for capability in [-1, 63, 64, 1000] {
      #expect(try !ProcessPrivileges.has(capability: capability, pid: getpid()))
    }
  }

  /// Against what `setpriv` gives and takes.
  @Test(.needsRoot) func childrenHaveWhatTheyWereGiven() throws {
    let commands = [
      (["sleep", "60"], true), (["setpriv", "--bounding-set", "-sys_admin", "sleep", "60"], false),
      (["setpriv", "--reuid", "4711", "--clear-groups", "sleep", "60"], false),
      // All capabilities, but in a user namespace of its own.
      (["unshare", "--user", "--map-root-user", "sleep", "60"], false),
    ]
    for (command, expected) in commands {
      let child = try Child(command, files: [0, 1, 2])
      defer { child.signal(SIGKILL) }
      _ = try waiting(for: "\(command) to become sleep") {
        try readFile("/proc/\(child.pid)/comm") == Array("sleep\n".utf8) ? true : nil
      }
      let has = try ProcessPrivileges.has(
        capability: ProcessPrivileges.systemAdministration, pid: child.pid)
      #expect(has == expected, "\(command)")
    }
  }
}

/// Identifiers of file systems, against their own tools.
@Suite(.needsRoot, .needsLoop) struct FileSystemIdentifiers {
  @Test func ofXFSIsThatOfItsSuperblock() throws {
    let scratch = try Scratch()
    let source = try Source(.xfs, in: scratch)
    let root = try FileDescriptor.open(FileName(source.path), [.readOnly, .directory])
    let text = try check(["blkid", "-p", "-s", "UUID", "-o", "value", source.path + ".image"])
    let expected = text.filter { $0.isHexDigit }
    let found = try root.xfsUUID().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(found == expected)
    let file = try scratch.file("elsewhere")
    #expect(throws: Errno.noSuchControl) {
      try FileDescriptor.open(FileName(file), .readOnly).xfsUUID()
    }
  }
}
