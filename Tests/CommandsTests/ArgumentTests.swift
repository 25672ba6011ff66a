import LinuxSystem
import Overlay
import Testing

@testable import Commands

/// Command lines, taken apart as getopt_long(3) would.
@Suite struct Arguments {
  private static let known = [
    Option(name: "store", letter: "s", value: "DIRECTORY", help: ""),
    Option(name: "quick", letter: "q", help: ""),
  ]

  private func parse(_ words: [String]) throws -> ParsedArguments {
    try ParsedArguments(words.map { FileName($0) }, Self.known, command: "test")
  }

  @Test(arguments: [
    ["--store", "place"], ["--store=place"], ["-s", "place"], ["-splace"],
  ]) func valuesStandBesideOrAfter(_ words: [String]) throws {
    let parsed = try parse(["before"] + words + ["after"])
    #expect(parsed.options.map(\.name) == ["store"])
    #expect(parsed.options.first?.value == FileName("place"))
    #expect(parsed.operands == [FileName("before"), FileName("after")])
    #expect(parsed.rest == nil)
  }

  @Test func whatFollowsTwoHyphensIsLeftAlone() throws {
    let parsed = try parse(["-q", "one", "--", "--store", "--", "-x"])
    #expect(parsed.has("quick") && !parsed.has("store"))
    #expect(parsed.operands == [FileName("one")])
    #expect(parsed.rest == ["--store", "--", "-x"].map { FileName($0) })
  }

  @Test func valuesMayLookLikeOptions() throws {
    #expect(try parse(["--store", "--quick"]).options.first?.value == FileName("--quick"))
    #expect(try parse(["--store=a=b"]).options.first?.value == FileName("a=b"))
    #expect(try parse(["--store="]).options.first?.value == FileName(""))
    #expect(try parse(["-"]).operands == [FileName("-")])
  }

  @Test func valuesAreBytes() throws {
    let name = try FileName([0xff, 0x2f, 0xfe])
    for words in [
      [FileName("--store"), name], [try FileName(Array("--store=".utf8) + name.bytes)],
      [try FileName(Array("-s".utf8) + name.bytes)],
    ] {
      let parsed = try ParsedArguments(words, Self.known, command: "test")
      #expect(parsed.options.first?.value == name)
    }
    #expect(try ParsedArguments([name], Self.known, command: "test").operands == [name])
  }
}

/// Options of a mount.
@Suite struct Settings {
  private func settings(_ list: String) throws -> MountSettings {
    var settings = MountSettings()
    _ = try settings.take("options", FileName(list))
    return settings
  }

  @Test func listSetsWhatTheOptionsSet() throws {
    let settings = try settings(
      "ro,allow_other,store=/a/b,identity=inode,cache=never,threads=7,debug")
    #expect(settings.isReadOnly && settings.isTraced && settings.isForeground)
    #expect(settings.allowsOthers == true)
    #expect(settings.store == FileName("/a/b"))
    #expect(settings.identity == .inode && settings.cache == .never && settings.threads == 7)
    #expect(settings.kernelOptions.isEmpty)
  }

  @Test func theLastOfReadOnlyAndWritableCounts() throws {
    #expect(try !settings("ro,rw").isReadOnly)
    #expect(try settings("rw,ro").isReadOnly)
  }

  @Test func optionsOfTheKernelGoToTheKernel() throws {
    #expect(
      try settings("suid,dev,noexec,noatime").kernelOptions == ["suid", "dev", "noexec", "noatime"])
  }

  /// What stands in the fourth field of an fstab line is for others as well.
  @Test func wordsOfMountAndSystemdPass() throws {
    let settings = try settings(
      "defaults,,noauto,user=somebody,users,owner,group,_netdev,nofail,x-systemd.automount,"
        + "x-systemd.requires=/a,X-mount.mkdir=0755,comment=text,fsname=a,subtype=b,"
        + "default_permissions")
    #expect(settings.kernelOptions.isEmpty && !settings.isReadOnly && settings.store == nil)
  }

  @Test func commasAndBackslashesAreWrittenWithABackslash() throws {
    #expect(try settings("ro,store=/a\\,b\\\\c,rw").store == FileName("/a,b\\c"))
    var bytes = MountSettings()
    _ = try bytes.take("options", FileName(Array("store=/".utf8) + [0xff, 0xfe]))
    #expect(bytes.store?.bytes == [0x2f, 0xff, 0xfe])
  }

  /// A daemon leaves the working directory.
  @Test func storeIsAnAbsolutePath() throws {
    let here = try Processes.workingDirectory()
    #expect(try settings("store=a/b").store == here.appending(FileName("a/b")))
    #expect(throws: CommandFailure.self) { try settings("store=") }
  }
}
