import CLinux
import Glibc
import LinuxSystem

/// The file systems that tests use, as sources of a mount and as oracles.
package enum SourceKind: String, CaseIterable, Sendable {
  case ramfs, tmpfs, ext4, xfs, btrfs

  /// Whether it is an image on a loop device; the others live in memory.
  package var needsLoop: Bool { size != nil }

  /// The size of the image in bytes: sparse, no smaller than its mkfs accepts.
  fileprivate var size: Int64? {
    switch self {
    case .ramfs, .tmpfs: nil
    case .ext4, .btrfs: 256 << 20
    case .xfs: 320 << 20
    }
  }

  /// Making a file system takes 10 to 40 ms, so images are made anew each time.
  fileprivate var mkfs: [String] {
    switch self {
    case .ramfs, .tmpfs: []
    case .ext4: ["mkfs.ext4", "-q", "-F", "-b", "4096", "-N", "65536"]
    case .xfs: ["mkfs.xfs", "-q", "-f"]
    case .btrfs: ["mkfs.btrfs", "-q", "-f"]
    }
  }
}

/// A fresh, empty file system, mounted for as long as the value lives.
package final class Source: Sendable {
  /// What it is.
  package let kind: SourceKind
  /// Where it is mounted; the root has mode 0755.
  package let path: String
  private let image: String?

  /// Makes and mounts one in `scratch`; throws `Failure` when mkfs or mount fails.
  package init(_ kind: SourceKind, in scratch: Scratch, named name: String? = nil) throws {
    self.kind = kind
    path = try scratch.directory(name ?? kind.rawValue)
    guard let size = kind.size else {
      image = nil
      try check(["mount", "-t", kind.rawValue, kind.rawValue, path])
      try call(chmod(path, 0o755))
      return
    }
    let image = path + ".image"
    self.image = image
    try writeFile(image, [])
    try call(truncate(image, off_t(size)))
    try check(kind.mkfs + [image])
    try mountImage()
    try call(chmod(path, 0o755))
  }

  deinit {
    unmountAll(below: path)
    if let image { unlink(image) }
  }

  /// Unmounts it and mounts it again, read-only if asked; those in memory change their mode only.
  package func remount(readOnly: Bool = false) throws {
    guard image != nil else {
      try check(["mount", "-o", readOnly ? "remount,ro" : "remount,rw", path])
      return
    }
    guard unmount(path) else { throw Overdue(what: "unmounting \(path)", limit: .seconds(5)) }
    try mountImage(readOnly: readOnly)
  }

  private func mountImage(readOnly: Bool = false) throws {
    guard let image else { return }
    try check([
      "mount", "-t", kind.rawValue, "-o", readOnly ? "loop,ro" : "loop", image, path,
    ])
  }
}

/// Mounts a fresh file system of a kind in `scratch`; it goes with the value that is returned.
package func mountSource(_ kind: SourceKind, in scratch: Scratch) throws -> Source {
  try Source(kind, in: scratch)
}
