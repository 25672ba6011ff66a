import CLinux
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// Paths of every kind of bytes: for the source, the mount point and the store.
@Suite(.needsFuse, .serialized) struct CommandPaths {
  private static let names = [
    "with blank", "comma,comma", "back\\slash", "line\nend", "tab\tstop", "\"quoted\" 'name'",
    "#hash",
    "=equals", "%41", "\\040", "ünïcode", "-hyphen", "end\\",
  ]

  @Test(arguments: names) func pathsWork(_ name: String) throws {
    let fixture = try CommandFixture()
    let source = fixture.memory.path + "/" + name
    let view = try fixture.scratch.directory(name)
    let place = fixture.scratch.path("store of " + name)
    try call(mkdir(source, 0o755))
    try writeFile(source + "/file", [])
    try check([fixture.binary, "mount", "--store", place, source, view])
    try check(["setfattr", "-n", "user.a", "-v", "1", view + "/file"])
    let entry = try #require(try Mounts.all().last { $0.mountPoint == FileName(view) })
    #expect(entry.type == "fuse.sidecarfs" && entry.source == FileName(source))
    struct Report: Decodable { let mountpoint, source, store: String }
    let json = try run([fixture.binary, "status", "--json", view])
    let report = try #require(try decodeJSON([Report].self, from: json.output).first)
    #expect(report.mountpoint == view && report.source == source && report.store == place)
    try check([fixture.binary, "unmount", view])
    #expect(fixture.daemons().isEmpty)
    #expect(try fixture.isClosed(place))
    // The same in the form of mount(8), where a comma and a backslash need a backslash.
    let escaped = place.reduce(into: "") { $0 += $1 == "," || $1 == "\\" ? "\\\($1)" : "\($1)" }
    try check([fixture.binary, source, view, "-o", "store=\(escaped)"])
    let value = try check([
      "getfattr", "--absolute-names", "--only-values", "-n", "user.a", view + "/file",
    ])
    #expect(value == "1")
    try check([fixture.binary, "unmount", view])
    // In the working directory, where a hyphen needs two before it.
    try check([fixture.binary, "mount", "--", name, view], in: fixture.memory.path)
    try check([fixture.binary, "unmount", "--", name], in: fixture.scratch.path)
    try check([fixture.binary, "run", "./" + name, "--", "true"], in: fixture.memory.path)
  }

  /// By a shell, since `String` cannot hold what is not UTF-8.
  @Test func bytesThatAreNoText() throws {
    let fixture = try CommandFixture()
    let text = try check(
      [
        "sh", "-ec",
        """
        source=ramfs/$(printf 'a\\377b')
        view=$(printf 'v\\376\\200w')
        place=$(printf 's\\374t')
        mkdir "$source" "$view"
        touch "$source/f"
        "$0" mount --store "$place" "$source" "$view"
        setfattr -n user.a -v 1 "$view/f"
        mountpoint -q "$view"
        "$0" status --json "$view"
        "$0" unmount "$view"
        [ -e "$place/store.db" ]
        "$0" "$source" "$view" -o "ro,store=$place"
        getfattr --only-values -n user.a "$view/f"
        "$0" unmount "$view"
        "$0" run --store "$place" "$source" -- getfattr --only-values -n user.a "$source/f"
        """, fixture.binary,
      ], in: fixture.scratch.path)
    #expect(text.hasSuffix("]\n11"))
    struct Report: Decodable { let mountpoint, store: String }
    let report = try #require(
      try decodeJSON([Report].self, from: Array(text.utf8.dropLast(2))).first)
    #expect(report.mountpoint == fixture.scratch.path("v\u{FFFD}\u{FFFD}w"))
    #expect(report.store == fixture.scratch.path("s\u{FFFD}t"))
    #expect(fixture.daemons().isEmpty)
  }
}
