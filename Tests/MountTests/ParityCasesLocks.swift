import CLinux
import Glibc
import TestSupport

extension ParityCase {
  /// Locks, mappings and notifications.
  static let sharing: [ParityCase] = [
    .files("record locks") { c in
      c.file("f", "0123456789")
      let file = c.open("f", O_RDWR)
      c.lock(file, F_WRLCK, 0, 10)
      c.testLock(file, F_WRLCK, 0, 10)
      c.elsewhere { other in
        let file = other.open("f", O_RDWR)
        other.testLock(file, F_RDLCK, 0, 1)
        other.testLock(file, F_WRLCK, 5, 100)
        other.lock(file, F_RDLCK, 0, 1)
        other.lock(file, F_WRLCK, 9, 1)
        other.lock(file, F_WRLCK, 10, 5)
        other.testLock(file, F_RDLCK, 10, 5)
      }
      c.testLock(file, F_WRLCK, 10, 5)
      c.lock(file, F_UNLCK, 3, 4)
      c.lock(file, F_RDLCK, 0, 2)
      c.elsewhere { other in
        let file = other.open("f", O_RDWR)
        for start in 0..<10 { other.testLock(file, F_WRLCK, start, 1) }
        other.testLock(file, F_RDLCK, 0, 0)
        other.lock(file, F_RDLCK, 0, 2)
        other.lock(file, F_WRLCK, 3, 4)
      }
      // Closing any descriptor of the file drops the process's locks.
      c.close(c.open("f", O_RDONLY))
      c.elsewhere { other in
        let file = other.open("f", O_RDWR)
        other.testLock(file, F_WRLCK, 0, 0)
        other.lock(file, F_WRLCK, 0, 0)
      }
      let readOnly = c.open("f", O_RDONLY)
      c.lock(readOnly, F_WRLCK, 0, 1)
      c.lock(readOnly, F_RDLCK, 0, 1)
      let writeOnly = c.open("f", O_WRONLY)
      c.lock(writeOnly, F_RDLCK, 5, 1)
      c.lock(file, 17, 0, 1)
      c.lock(file, F_WRLCK, -1, 1)
      let path = c.open("f", O_PATH)
      c.lock(path, F_RDLCK, 0, 1)
    },
    .files("locks of open files") { c in
      c.file("f", "0123456789")
      let one = c.open("f", O_RDWR)
      let two = c.open("f", O_RDWR)
      c.lock(one, F_WRLCK, 0, 5, openFile: true)
      c.lock(two, F_WRLCK, 0, 5, openFile: true)
      c.lock(two, F_RDLCK, 0, 1, openFile: true)
      c.lock(two, F_WRLCK, 5, 5, openFile: true)
      c.testLock(two, F_WRLCK, 0, 5, openFile: true)
      c.testLock(one, F_WRLCK, 0, 0, openFile: true)
      c.lock(one, F_WRLCK, 6, 1)
      c.close(two)
      c.lock(one, F_WRLCK, 0, 0, openFile: true, waits: true)
      c.elsewhere { other in
        let file = other.open("f", O_RDWR)
        other.testLock(file, F_WRLCK, 0, 0)
        other.lock(file, F_WRLCK, 0, 0, openFile: true)
      }
      c.close(one)
      let three = c.open("f", O_RDWR)
      c.lock(three, F_WRLCK, 0, 0, openFile: true, waits: true)
    },
    .files("whole-file locks") { c in
      c.file("f")
      c.mkdir("d")
      let one = c.open("f", O_RDWR)
      let two = c.open("f", O_RDONLY)
      c.flock(one, LOCK_EX | LOCK_NB)
      c.flock(two, LOCK_SH | LOCK_NB)
      c.flock(two, LOCK_EX | LOCK_NB)
      c.flock(one, LOCK_SH | LOCK_NB)
      c.flock(two, LOCK_SH | LOCK_NB)
      c.flock(one, LOCK_EX | LOCK_NB)
      c.flock(two, LOCK_UN)
      c.flock(one, LOCK_EX | LOCK_NB)
      // Record locks and these do not see each other.
      c.lock(two, F_RDLCK, 0, 0)
      c.elsewhere { other in
        let file = other.open("f", O_RDWR)
        other.flock(file, LOCK_SH | LOCK_NB)
        other.flock(file, LOCK_UN)
      }
      c.close(one)
      // The kernel tells a FUSE server of the end of an open file after close(2) has returned.
      c.flock(two, LOCK_EX)
      c.flock(two, 77)
      let directory = c.open("d", O_RDONLY)
      let again = c.open("d", O_RDONLY)
      c.flock(directory, LOCK_EX | LOCK_NB)
      c.flock(again, LOCK_EX | LOCK_NB)
      c.close(directory)
      c.flock(again, LOCK_EX | LOCK_NB)
      let path = c.open("f", O_PATH)
      c.flock(path, LOCK_SH | LOCK_NB)
    },
    .files("locks that wait") { c in
      c.file("f", "0123456789")
      let file = c.open("f", O_RDWR)
      c.lock(file, F_WRLCK, 0, 1)
      c.waitsFor("SETLKW") { other in
        let file = other.open("f", O_RDWR)
        var lock = Glibc.flock(
          l_type: Int16(F_WRLCK), l_whence: 0, l_start: 0, l_len: 1, l_pid: 0)
        other.call("SETLKW") { fcntl(file.raw, F_SETLKW, &lock) }
      } until: {
        c.lock(file, F_UNLCK, 0, 1)
      }
      c.flock(file, LOCK_EX)
      c.waitsFor("flock") { other in
        let file = other.open("f", O_RDWR)
        other.flock(file, LOCK_EX)
      } until: {
        c.flock(file, LOCK_UN)
      }
    },
    .files("mappings") { c in
      c.file("f", Bytes("a", times: 10000))
      let file = c.open("f", O_RDWR)
      c.mapped(file, 10000, PROT_READ | PROT_WRITE, MAP_SHARED) { bytes in
        bytes[0] = UInt8(ascii: "S")
        bytes[9999] = UInt8(ascii: "E")
        c.note("beyond the end: \(bytes[10001])")
        c.pread(file, 2, at: 0)
        c.pwrite(file, "w", at: 1)
        c.note("written and mapped: \(bytes[1] == UInt8(ascii: "w"))")
        c.call("msync") { msync(bytes.baseAddress, bytes.count, Int32(MS_SYNC)) }
      }
      c.content("f")
      c.mapped(file, 10000, PROT_READ | PROT_WRITE, MAP_PRIVATE) { bytes in
        bytes[5] = UInt8(ascii: "P")
        c.pread(file, 6, at: 0)
      }
      c.content("f")
      let readOnly = c.open("f", O_RDONLY)
      c.mapped(readOnly, 4096, PROT_READ, MAP_SHARED) { c.note("reads \($0[0])") }
      c.mapped(readOnly, 4096, PROT_READ | PROT_WRITE, MAP_SHARED) { _ in }
      c.mapped(readOnly, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE) { $0[0] = 1 }
      c.mapped(readOnly, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE) { _ in }
      let writeOnly = c.open("f", O_WRONLY)
      c.mapped(writeOnly, 4096, PROT_READ, MAP_SHARED) { _ in }
      c.mkdir("d")
      let directory = c.open("d", O_RDONLY)
      c.mapped(directory, 4096, PROT_READ, MAP_SHARED) { _ in }
      c.moving("f") {
        c.mapped(file, 4096, PROT_READ | PROT_WRITE, MAP_SHARED) { bytes in
          bytes[0] = UInt8(ascii: "M")
          c.call("msync") { msync(bytes.baseAddress, bytes.count, Int32(MS_SYNC)) }
        }
      }
      c.unlink("f")
      c.mapped(file, 4096, PROT_READ, MAP_SHARED) { c.note("unlinked reads \($0[0])") }
    },
    .attributes("notifications") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.watching(["f", "d", "."]) {
        for path: Target in ["f", "d"] {
          c.set(path, "user.a", "1")
          c.set(path, "user.a", "2", 1)
          c.get(path, "user.a")
          c.remove(path, "user.a")
          c.remove(path, "user.a")
        }
      }
    },
    .files("notifications") { c in
      c.file("f", "content")
      c.mkdir("d")
      c.watching(["f", "d", "."]) {
        c.chmod("f", 0o600)
        let file = c.open("f", O_RDWR)
        c.write(file, "x")
        c.close(file)
        c.close(c.open("d/new", O_CREAT | O_WRONLY))
        c.rename("d/new", "d/other")
        c.unlink("d/other")
        c.mkdir("e")
        c.rmdir("e")
        c.link("f", "g")
        c.unlink("f")
      }
    },
  ]
}
