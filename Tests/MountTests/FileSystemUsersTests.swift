import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Several users at once: what they make is theirs, as natively, and the source's own access
/// control lists hold.
@Suite(.needsFuse, .needsLoop) struct FileSystemUsers {
  private static let user = User(1001, 1001, groups: [1002, 1003])

  /// Owner, group and mode of whatever a user makes, in plain directories, in those of another
  /// group, and in those that hand their group on.
  @Test(arguments: SourceKind.allCases) func makers(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let native = try Source(.ext4, in: scratch, named: "native")
    let source = try Source(kind, in: scratch, named: "source")
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    let wanted = try make(in: native.path)
    let found = try make(in: mount.mountPoint)
    #expect(found == wanted, "\(kind)")
    #expect(wanted.count == 3 * 2 * 6 * 2)
    try mount.unmount()
  }

  private func make(in root: String) throws -> [String] {
    let lines = Lock<[String]>([])
    for (name, group, mode) in [
      ("plain", 0, 0o777), ("member", 1002, 0o2777), ("stranger", 2000, 0o2777),
    ] as [(String, UInt32, UInt32)] {
      let directory = "\(root)/\(name)"
      try call(mkdir(directory, 0o755))
      try call(chown(directory, 0, group))
      try call(chmod(directory, mode))
      for mask in [0o027, 0] as [UInt32] {
        onThread {
          isolateThread()
          umask(mask)
          guard (try? become(Self.user)) != nil, chdir(directory) == 0 else { return }
          let files: [(String, () -> Int32)] = [
            ("file", { open("file", O_CREAT | O_EXCL | O_RDWR, 0o2777) }),
            ("fifo", { mknod("fifo", S_IFIFO | 0o666, 0) }),
            ("socket", { mknod("socket", S_IFSOCK | 0o777, 0) }),
            ("directory", { mkdir("directory", 0o777) }),
            ("link", { symlink("nowhere", "link") }),
            (
              "nameless",
              {
                let file = open(".", temporary | O_RDWR, 0o2775)
                return linkat(
                  AT_FDCWD, "/proc/thread-self/fd/\(file)", AT_FDCWD, "nameless",
                  AT_SYMLINK_FOLLOW)
              }
            ),
          ]
          for (file, make) in files {
            let result = make() < 0 ? errorName(errno) : "made"
            var status = stat()
            lstat(file, &status)
            let words = "\(name) \(file) \(octal(mask)): \(result)"
            lines.withLock {
              $0 += [words, "\(octal(status.st_mode)) \(status.st_uid):\(status.st_gid)"]
            }
            if unlink(file) != 0 { rmdir(file) }
          }
        }
      }
    }
    return lines.withLock { $0 }
  }

  /// A default list of the source's directory rules what is made in it through the mount.
  @Test(arguments: [SourceKind.ext4, .xfs, .btrfs, .tmpfs]) func defaultLists(
    _ kind: SourceKind
  ) throws {
    let scratch = try Scratch()
    let native = try Source(.ext4, in: scratch, named: "native")
    let source = try Source(kind, in: scratch, named: "source")
    for place in [native.path, source.path] {
      try call(mkdir(place + "/d", 0o755))
      try call(chmod(place + "/d", 0o777))
      try check([
        "setfacl", "-d", "-m", "u::rwx,u:1001:rw-,g::r-x,g:1003:---,m::rwx,o::r--", place + "/d",
      ])
    }
    let mount = try Mount(source.path, store: scratch.directory("store"), in: scratch)
    let shell = "umask 027; cd $1 && touch file && mkdir directory && mkfifo fifo && ln -s x link"
    for place in [native.path, mount.mountPoint] {
      try check(["sh", "-c", shell, "sh", place + "/d"], as: Self.user)
    }
    for name in ["file", "directory", "fifo"] {
      func list(_ place: String) throws -> String {
        try check(["getfacl", "-n", "-c", "-p", "\(place)/d/\(name)"])
      }
      #expect(try list(source.path) == list(native.path), "\(kind), \(name)")
      var statuses = [stat(), stat()]
      for (number, place) in [native.path, mount.mountPoint].enumerated() {
        try call(lstat("\(place)/d/\(name)", &statuses[number]))
      }
      #expect(statuses[0].st_mode == statuses[1].st_mode, "\(kind), \(name)")
      #expect(statuses[1].st_uid == 1001 && statuses[1].st_gid == 1001)
    }
    try mount.unmount()
  }

  /// A list that forbids what the mode allows holds against the user that it names.
  @Test(arguments: [SourceKind.ext4, .xfs, .btrfs, .tmpfs]) func forbidden(
    _ kind: SourceKind
  ) throws {
    let scratch = try Scratch()
    let source = try Source(kind, in: scratch, named: "source")
    let mount = try Mount(
      source.path, store: scratch.directory("store"), options: ["--cache", "never"], in: scratch)
    try writeFile(source.path + "/f", Array("content".utf8), mode: 0o666)
    try writeFile(source.path + "/group", Array("content".utf8), mode: 0o666)
    try call(mkdir(source.path + "/d", 0o777))
    try call(chmod(source.path + "/d", 0o777))
    try check(["setfacl", "-m", "u:1001:---", source.path + "/f", source.path + "/d"])
    try check(["setfacl", "-m", "g:1003:---", source.path + "/group"])
    for user in [Self.user, User(1004), User(0)] {
      func answers(_ root: String) -> [String] {
        onThread {
          guard user.uid == 0 || (try? become(user)) != nil else { return [] }
          return ["f", "group"].flatMap { name in
            [O_RDONLY, O_WRONLY, O_RDWR, O_RDONLY | O_NONBLOCK].map { flags in
              answer("\(name) \(flags)", open("\(root)/\(name)", flags | O_CLOEXEC))
            }
          } + [
            answer("list", open(root + "/d", O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
            answer("make", open(root + "/d/new", O_CREAT | O_RDWR | O_CLOEXEC, 0o644)),
            answer("mkdir", mkdir(root + "/d/newer", 0o755)),
          ]
        }
      }
      let wanted = answers(source.path)
      unlink(source.path + "/d/new")
      rmdir(source.path + "/d/newer")
      #expect(answers(mount.mountPoint) == wanted, "\(kind), user \(user.uid)")
      unlink(source.path + "/d/new")
      rmdir(source.path + "/d/newer")
    }
    try mount.unmount()
  }
}

private func answer(_ what: String, _ result: Int32) -> String {
  let code = errno
  if result > 0 { close(result) }
  return what + ": " + (result < 0 ? errorName(code) : "ok")
}
