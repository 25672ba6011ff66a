import LinuxSystem
import SidecarStore

/// What is known beforehand of a kind of file system, by its number in linux/magic.h.
enum FileSystemKind {
  /// Whether its inode numbers are made up as objects are seen, and may mean another tomorrow.
  static func inventsNumbers(_ type: UInt32) -> Bool {
    switch type {
    case 0x6573_5546,  // FUSE: sshfs, rclone, bindfs, and ntfs-3g as fuseblk
      0x4d44,  // FAT
      0x2011_bab0,  // exFAT
      0x0102_1997,  // 9p
      0x7375_7245:  // Coda
      true
    default: false
    }
  }

  /// Whether several spellings are one name on every such file system.
  static func foldsNames(_ type: UInt32) -> Bool { type == 0x4d44 || type == 0x2011_bab0 }

  /// Whether its inode numbers are its own although it gives out no file handles.
  static func keepsNumbers(_ type: UInt32) -> Bool {
    switch type {
    case 0x8584_58f6,  // ramfs
      0x794c_7630,  // overlayfs without nfs_export
      0xff53_4d42, 0xfe53_4d42:  // SMB, with the server's inode numbers
      true
    default: false
    }
  }

  /// Whether a birth time tells two objects of the same number apart. On overlayfs it does not: a
  /// file that is copied up gets another one.
  static func keepsBirthTimes(_ type: UInt32) -> Bool { type != overlayfs }

  /// Whether the file system lives in memory, so that its numbers begin anew with each boot.
  static func isInMemory(_ type: UInt32) -> Bool { type == ramfs || type == tmpfs }

  /// Whether a close(2) may say what became of writes; not on those that have nothing to do there.
  static func tellsAtClose(_ type: UInt32) -> Bool {
    switch type {
    case ramfs, tmpfs, xfs, ext4, btrfs: false
    default: true
    }
  }

  /// Whether it is reached over a network, where SQLite's locks and shared memory do not work.
  static func isRemote(_ type: UInt32) -> Bool {
    switch type {
    case 0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x00c3_6400, 0x6573_5546: true
    default: false
    }
  }

  /// A name for messages.
  static func name(_ type: UInt32) -> String {
    switch type {
    case 0x6573_5546: "FUSE"
    case 0x4d44: "FAT"
    case 0x2011_bab0: "exFAT"
    case 0x0102_1997: "9p"
    case ext4: "ext4"
    case xfs: "XFS"
    case btrfs: "Btrfs"
    case tmpfs: "tmpfs"
    case ramfs: "ramfs"
    case overlayfs: "overlayfs"
    case 0x6969: "NFS"
    case 0xff53_4d42, 0xfe53_4d42: "SMB"
    default: "0x" + String(type, radix: 16)
    }
  }

  static let ramfs: UInt32 = 0x8584_58f6
  static let tmpfs: UInt32 = 0x0102_1994
  static let overlayfs: UInt32 = 0x794c_7630
  static let xfs: UInt32 = 0x5846_5342
  static let ext4: UInt32 = 0xef53
  static let btrfs: UInt32 = 0x9123_683e

  /// Those whose `f_fsid` is made from their UUID; the others' is often the number of a device.
  static func hasLastingIdentifier(_ type: UInt32) -> Bool {
    switch type {
    case ext4, btrfs, tmpfs, 0x2fc1_2fc1, 0xca45_1a4e: true
    default: false
    }
  }
}
