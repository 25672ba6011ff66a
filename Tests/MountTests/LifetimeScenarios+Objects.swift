import CLinux
import Glibc

extension LifetimeScenario {
  /// Every kind of object, values and numbers of attributes at their limits, the time of change.
  static let objects = [
    LifetimeScenario(
      "kinds of objects",
      { c in
        c.symlink("nowhere", "link")
        c.mknod("fifo", S_IFIFO | 0o600)
        c.mknod("device", S_IFCHR | 0o600, (1, 3))
        c.mknod("block", S_IFBLK | 0o600, (7, 200))
        c.bindSocket("socket")
        for path: Bytes in ["link", "fifo", "device", "block", "socket"] {
          c.set(.link(path), "trusted.t", path)
          c.set(.link(path), "trusted.two", "2")
          c.remove(.link(path), "trusted.two")
          c.list(.link(path))
        }
        c.rename("link", "moved")
        c.link("fifo", "fifo2")
        c.unlink("fifo")
        c.unlink("socket")
        c.unlink("device")
        c.mknod("device", S_IFCHR | 0o600, (1, 5))
        c.list(.link("device"))
      },
      { c in
        for path: Bytes in ["moved", "fifo2", "device", "block"] {
          c.list(.link(path))
          c.get(.link(path), "trusted.t")
        }
        c.rename("moved", "block")
        c.list(.link("block"))
      }, { c in c.list(.link("block")) }),
    LifetimeScenario(
      "values",
      { c in
        c.file("f")
        for (name, size) in [("empty", 0), ("one", 1), ("page", 4096), ("whole", 65536)] {
          c.set("f", Bytes("user." + name), Bytes("v", times: size))
        }
        c.set("f", "user.over", Bytes("v", times: 65537))
      },
      { c in
        for name in ["empty", "one", "page", "whole", "over"] {
          c.get("f", Bytes("user." + name), room: 0)
          c.get("f", Bytes("user." + name))
        }
        c.set("f", "user.whole", "")
        c.set("f", "user.empty", Bytes("w", times: 65536))
      },
      { c in
        c.get("f", "user.whole")
        c.get("f", "user.empty")
        c.list("f")
      }),
    LifetimeScenario(
      "many attributes",
      { c in
        c.file("f")
        for number in 0..<500 { c.set("f", Bytes("user.\(number)"), Bytes("\(number * 7)")) }
        c.list("f")
        for number in stride(from: 0, to: 500, by: 3) { c.remove("f", Bytes("user.\(number)")) }
      },
      { c in
        c.list("f")
        for number in 0..<500 { c.get("f", Bytes("user.\(number)"), room: 100) }
      }),
    LifetimeScenario(
      "time of change",
      { c in
        for path: Bytes in ["f", "g"] {
          c.file(path, "content")
          c.moving(path) { c.set(.path(path), "user.a", "1") }
          c.moving(path) { c.set(.path(path), "user.b", "1") }
          c.moving(path) { c.get(.path(path), "user.a") }
          c.moving(path) { c.remove(.path(path), "user.a") }
        }
        c.moving("g") { c.remove("g", "user.b") }
        c.remember("f")
        c.remember("g")
        waitForTick()
      },
      { c in
        c.recall("f")
        c.recall("g")
        c.moving("g") { c.chmod("g", 0o600) }
        c.moving("g") { c.set("g", "user.a", "1") }
        c.remember("g")
        waitForTick()
      }, { c in c.recall("g") }),
  ]
}

extension Calls {
  /// Keeps the times of a file in another one beside it, for `recall` after a remount.
  func remember(_ path: Bytes) {
    var status = Glibc.stat()
    lstat(path.cString, &status)
    file(path + ".times", Bytes(times(status)))
  }

  /// Says whether the times of a file are those that were kept.
  func recall(_ path: Bytes) {
    var status = Glibc.stat()
    lstat(path.cString, &status)
    var kept = [UInt8](repeating: 0, count: 200)
    let file = Glibc.open((path + ".times").cString, O_RDONLY)
    let count = Glibc.read(file, &kept, kept.count)
    kept = Array(kept.prefix(max(0, count)))
    Glibc.close(file)
    let same = String(decoding: kept, as: UTF8.self) == times(status)
    note("the times of \(path) are \(same ? "as they were" : "others")")
  }

  private func times(_ status: Glibc.stat) -> String {
    "\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
      + " \(status.st_ctim.tv_sec).\(status.st_ctim.tv_nsec)"
  }
}
