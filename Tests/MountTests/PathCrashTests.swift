import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// The daemon is killed in the middle of a change of names over a file system of another program,
/// and the next one finds out what happened from what is there.
@Suite(.needsFuse, .needsLoop, .serialized) struct PathCrash {
  /// A change of names in a directory, by one call, or two.
  struct Deed: Sendable {
    let name: String
    var needsLinks = false
    let body: @Sendable (String) -> Void
  }

  static let deeds = [
    Deed(name: "rename") { rename($0 + "/f", $0 + "/h") },
    Deed(name: "rename into a directory") { rename($0 + "/f", $0 + "/d/h") },
    Deed(name: "rename over") { rename($0 + "/f", $0 + "/g") },
    Deed(name: "rename over one without") { rename($0 + "/f", $0 + "/bare") },
    Deed(name: "rename one without over") { rename($0 + "/bare", $0 + "/g") },
    Deed(name: "rename a directory") { rename($0 + "/d", $0 + "/moved") },
    Deed(name: "another spelling") { rename($0 + "/f", $0 + "/F") },
    Deed(name: "over another spelling") { rename($0 + "/f", $0 + "/G") },
    Deed(name: "unlink") { unlink($0 + "/f") },
    Deed(name: "replace") {
      unlink($0 + "/f")
      try? writeFile($0 + "/f", Array("new".utf8))
    },
    Deed(name: "link, then unlink", needsLinks: true) {
      link($0 + "/f", $0 + "/h")
      unlink($0 + "/f")
    },
  ]

  static let steps: [Rehearsal.Step] = [
    .announced, .made, .linked, .renamed, .unlinked, .settled, .inTransaction, .committed,
    .applied,
  ]

  /// Each file says in its content which one it is, and has that as its attribute.
  @Test(arguments: [ForeignKind.sshfs, .bindfs] + ForeignKind.folding)
  func atEveryStep(_ kind: ForeignKind) throws {
    let scratch = try Scratch()
    let source = try ForeignSource(kind, in: scratch)
    let store = try scratch.directory("store")
    let control = try RehearsalControl(in: scratch)
    let mount = try Mount(
      source.path, store: store, environment: control.environment, in: scratch)
    var kills = 0
    for (number, deed) in Self.deeds.enumerated() where kind.hasLinks || !deed.needsLinks {
      for step in Self.steps {
        for time in step == .committed ? [1, 2, 3] : [1] {
          let name = "\(number)-\(step.rawValue)-\(time)"
          let directory = "\(mount.mountPoint)/\(name)"
          let files = try Self.prepare(directory)
          control.kill(at: step, time: time)
          deed.body(directory)
          let isDead = control.rest()
          if isDead {
            kills += 1
            try mount.kill()
            // What serves the source has made up other numbers when the next one comes.
            if kills % 5 == 0 { try source.remount() }
            try mount.remount()
          }
          let what = "\(kind), \(deed.name), \(step) \(time), killed: \(isDead)"
          try Self.verify(directory, files, deed, isDead: isDead, what)
        }
      }
    }
    #expect(kills >= 30)
    try noOrphans(mount)
    try mount.unmount()
    #expect(mount.printed == "", "\(kind): something could not be decided")
    let found = try Tool.run(["check", "--store", store, source.path], ends: 0)
    #expect(found.text.hasSuffix(": clean\n"), "\(found.text)")
    #expect(try StoredState(store).quarantined == 0)
    print("crash: \(kills) kills over \(kind)")
  }

  /// Files of different lengths: two that look alike could not be told apart.
  private static func prepare(_ directory: String) throws -> Set<String> {
    try call(mkdir(directory, 0o755))
    try call(mkdir(directory + "/d", 0o755))
    let has = ["f": "f has it", "g": "g has it, too", "d/x": "d/x has"]
    for (name, text) in has {
      try writeFile("\(directory)/\(name)", Array(text.utf8))
      try call(setxattr("\(directory)/\(name)", "user.is", text, text.utf8.count, 0))
    }
    for (name, text) in [("bare", "bare file"), ("d/bare", "bare, too, and longer")] {
      try writeFile("\(directory)/\(name)", Array(text.utf8))
    }
    return Set(has.values)
  }

  private static func verify(
    _ root: String, _ files: Set<String>, _ deed: Deed, isDead: Bool, _ what: String
  ) throws {
    var count = 0
    for directory in ["", "/d", "/moved"] {
      for name in entries(of: root + directory) {
        let path = "\(root)\(directory)/\(name)"
        guard let content = try? String(decoding: readFile(path), as: UTF8.self) else { continue }
        count += 1
        let found = try attributesOf(path)
        let own: Set<String> = [
          "\(hex(Array("user.is".utf8)))=\(hex(Array(content.utf8)))"
        ]
        // A second name that nobody was told of need not be known.
        let mayLack = isDead && deed.needsLinks && name == "h"
        #expect(
          found == (files.contains(content) ? own : []) || (mayLack && found.isEmpty),
          "\(what): \(path.dropFirst(root.count)) \(content)")
      }
    }
    #expect(count >= 4, "\(what)")
  }
}
