import Glibc
import TestSupport

extension ParityCase {
  /// Names that the kernel itself gives a meaning.
  static let attributeSystem: [ParityCase] = [
    .attributes("access control lists") { c in
      c.file("f", "", 0o640)
      c.mkdir("d")
      let list = accessList([(1, 6, nil), (2, 4, 4242), (4, 4, nil), (16, 4, nil), (32, 0, nil)])
      for name: Bytes in ["system.posix_acl_access", "system.posix_acl_default"] {
        for path in ["f", "d"] {
          let target = Target.path(Bytes(path))
          c.get(target, name)
          c.get(target, name, room: 0)
          c.remove(target, name)
          c.set(target, name, "nonsense")
          c.set(target, name, "")
          c.set(target, name, list)
          c.get(target, name)
          c.list(target)
          c.stat(Bytes(path))
          c.remove(target, name)
          c.list(target)
        }
        c.symlink("f", "l")
        c.fourCalls(.link("l"), name)
      }
      c.asUser(alice) { c.set("f", "system.posix_acl_access", list) }
    },
    .attributes("file capabilities") { c in
      c.file("f", "content", 0o755)
      c.mkdir("d")
      c.set("f", "security.capability", "nonsense")
      c.set("f", "security.capability", "")
      c.set("f", "security.capability", capability)
      c.get("f", "security.capability")
      c.list("f")
      c.set("f", "security.capability", capability, 1)
      c.asUser(alice) {
        c.get("f", "security.capability")
        c.set("f", "security.capability", capability)
        c.remove("f", "security.capability")
      }
      c.set("d", "security.capability", capability)
      c.remove("d", "security.capability")
      c.remove("f", "security.capability")
      c.get("f", "security.capability")
    },
    .attributes("file capabilities go with a change") { c in
      for name: Bytes in ["written", "truncated", "owned", "moded", "read", "opened", "mapped"] {
        c.file(name, "content", 0o755)
        c.set(.path(name), "security.capability", capability)
        c.set(.path(name), "user.kept", "1")
      }
      let written = c.open("written", O_RDWR)
      c.list("written")
      c.write(written, "x")
      c.list("written")
      c.truncate("truncated", 3)
      c.list("truncated")
      c.chown("owned", 4242, -1)
      c.list("owned")
      c.chown("moded", -1, -1)
      c.list("moded")
      c.chmod("moded", 0o700)
      c.list("moded")
      c.content("read")
      c.list("read")
      let opened = c.open("opened", O_RDWR | O_TRUNC)
      c.list("opened")
      c.set("opened", "security.capability", capability)
      c.ftruncate(opened, 10)
      c.list("opened")
      c.set("opened", "security.capability", capability)
      c.write(opened, "again")
      c.list("opened")
    },
    .attributes("security labels") { c in
      c.file("f")
      for name in ["security.selinux", "security.ima", "security.evm", "security.SMACK64"] {
        c.fourCalls("f", Bytes(name), "system_u:object_r:tmp_t:s0")
      }
    },
    .attributes("names of overlayfs and others") { c in
      c.file("f")
      for name in [
        "trusted.overlay.opaque", "user.overlay.origin", "user.DOSATTRIB", "user.mime_type",
        "security.NTACL", "trusted.glusterfs.dht", "user.rsync.%stat",
      ] {
        c.fourCalls("f", Bytes(name), "y")
      }
    },
  ]

  /// `cap_net_raw+ep` as the kernel stores it, version 2.
  private static let capability = Bytes(
    [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])

  /// An access control list as system.posix_acl_access has it: tag, permissions, id.
  private static func accessList(_ entries: [(UInt8, UInt8, UInt32?)]) -> Bytes {
    var bytes: [UInt8] = [2, 0, 0, 0]
    for (tag, permissions, id) in entries {
      bytes += [tag, 0, permissions, 0]
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: (id ?? .max) >> ($0 * 8)) }
    }
    return Bytes(bytes)
  }
}
