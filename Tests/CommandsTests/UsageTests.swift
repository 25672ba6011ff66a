import Testing

@testable import Commands

/// What can be said without mounting anything.
@Suite struct Usage {
  /// A mistake, the status that it has to end with, and words that the complaint has to have.
  struct Mistake: Sendable, CustomTestStringConvertible {
    let words: [String]
    let status: Int32
    let mentions: [String]
    init(_ words: [String], _ status: Int32, _ mentions: String...) {
      self.words = words
      self.status = status
      self.mentions = mentions
    }
    var testDescription: String { words.joined(separator: " ") }
  }

  static let mistakes = [
    Mistake([], 1, "--help"),
    Mistake(["bogus"], 1, "bogus", "--help"),
    Mistake(["bogus", "operand"], 1, "bogus", "--help"),
    Mistake(["help", "bogus"], 1, "bogus", "--help"),
    Mistake(["--bogus"], 1, "--bogus", "--help"),
    Mistake(["mount"], 1, "source", "mount point", "usage:"),
    Mistake(["mount", "one"], 1, "usage:"),
    Mistake(["mount", "one", "two", "three"], 1, "usage:"),
    Mistake(["mount", "one", "--", "two", "three"], 1, "usage:"),
    Mistake(["mount", "--bogus", "one", "two"], 1, "--bogus", "--help"),
    Mistake(["mount", "-x", "one", "two"], 1, "-x", "--help"),
    Mistake(["mount", "one", "two", "--store"], 1, "--store", "value"),
    Mistake(["mount", "one", "two", "-o"], 1, "-o", "value"),
    Mistake(["mount", "--store=", "one", "two"], 1, "store", "directory"),
    Mistake(["mount", "--read-only=yes", "one", "two"], 1, "--read-only", "no value"),
    Mistake(["mount", "--threads", "many", "one", "two"], 1, "threads", "many", "256"),
    Mistake(["mount", "--threads", "0", "one", "two"], 1, "threads", "256"),
    Mistake(["mount", "--threads", "257", "one", "two"], 1, "threads", "256"),
    Mistake(["mount", "--threads", "99999999999999999999", "one", "two"], 1, "threads", "256"),
    Mistake(["mount", "--identity", "name", "one", "two"], 1, "name", "handle", "inode"),
    Mistake(["mount", "--cache", "often", "one", "two"], 1, "often", "always", "never"),
    Mistake(["mount", "-o", "bogus", "one", "two"], 1, "bogus", "--help"),
    Mistake(["mount", "-o", "ro,bogus=1", "one", "two"], 1, "bogus", "--help"),
    Mistake(["mount", "-o", "ro=1", "one", "two"], 1, "ro", "no value"),
    Mistake(["mount", "-o", "threads=x", "one", "two"], 1, "threads", "256"),
    Mistake(["mount", "-o", "store", "one", "two"], 1, "store", "value"),
    Mistake(["one/", "two", "-o", "bogus"], 1, "bogus", "--help"),
    Mistake(["unmount"], 1, "usage:"),
    Mistake(["unmount", "one", "two"], 1, "usage:"),
    Mistake(["unmount", "--bogus", "one"], 1, "--bogus", "--help"),
    Mistake(["unmount", "/nowhere/at/all"], 32, "/nowhere/at/all", "status"),
    Mistake(["umount", "/"], 32, "/", "not a mount of sidecarfs"),
    Mistake(["status", "one", "two"], 1, "usage:"),
    Mistake(["status", "--bogus"], 1, "--bogus", "--help"),
    Mistake(["status", "/nowhere/at/all"], 32, "/nowhere/at/all"),
    Mistake(["run"], 125, "usage:"),
    Mistake(["run", "one"], 125, "usage:"),
    Mistake(["run", "one", "--"], 125, "usage:"),
    Mistake(["run", "one", "two", "--", "true"], 125, "usage:"),
    Mistake(["run", "--foreground", "one", "--", "true"], 125, "--foreground", "--help"),
    Mistake(["run", "--bogus", "one", "--", "true"], 125, "--bogus", "--help"),
  ]

  /// The commands that end with the numbers of fsck(8).
  static let toolMistakes =
    ["check", "prune", "rebind", "quarantine", "export", "import"].flatMap { name in
      [
        Mistake([name], 16, "usage:"), Mistake([name, "--bogus", "one"], 16, "--bogus", "--help"),
        Mistake([name, "one", "two", "three"], 16, "usage:"),
        Mistake([name, "--identity", "name", "one"], 16, "name", "handle", "inode"),
        Mistake([name, "/nowhere/at/all"], 8, "/nowhere/at/all"),
      ]
    } + [
      Mistake(["prune", "--older-than", "many", "one"], 16, "many"),
      Mistake(["quarantine", "--restore", "first", "one"], 16, "first"),
      Mistake(["quarantine", "--to", "a", "one"], 16, "--restore ID"),
      Mistake(["export", "--format", "xml", "one"], 16, "xml", "getfattr", "json"),
      Mistake(["import", "--native", "one", "two"], 16, "usage:"),
    ]

  @Test(arguments: mistakes + toolMistakes) func isToldInOneLine(_ mistake: Mistake) {
    let spoken = Spoken(mistake.words)
    #expect(spoken.status == mistake.status)
    #expect(spoken.output.isEmpty)
    #expect(spoken.complaints.count == 1)
    let line = spoken.complaints.first ?? ""
    #expect(line.hasPrefix("sidecarfs: ") && !line.contains("\n"))
    #expect(line.contains("; "), "no remedy: \(line)")
    for word in mistake.mentions { #expect(line.contains(word)) }
  }

  @Test(arguments: [
    "mount", "unmount", "run", "status", "check", "prune", "rebind",
    "quarantine", "export", "import",
  ]) func commandsTeach(_ name: String) {
    for words in [[name, "--help"], [name, "-h"], ["help", name]] {
      let spoken = Spoken(words)
      #expect(spoken.status == 0 && spoken.complaints.isEmpty)
      #expect(spoken.output.hasPrefix("usage: sidecarfs \(name)"))
      #expect(spoken.output.contains("\n  sidecarfs \(name) "), "no example")
      #expect(spoken.output.contains("exit status:"))
      #expect(spoken.output.hasSuffix("\n"))
      for line in spoken.output.split(separator: "\n") { #expect(line.count <= 80, "\(line)") }
    }
  }

  @Test func everyOptionIsInTheHelp() {
    let help = Spoken(["mount", "--help"]).output
    for option in MountSettings.options { #expect(help.contains("--\(option.name)")) }
    let names = MountSettings.options.map(\.name)
    #expect(Set(names).count == names.count)
    let letters = MountSettings.options.compactMap(\.letter)
    #expect(Set(letters).count == letters.count)
  }

  @Test func overviewNamesEveryCommand() {
    for words in [["--help"], ["-h"], ["help"]] {
      let spoken = Spoken(words)
      #expect(spoken.status == 0)
      for name in [
        "mount", "unmount", "run", "status", "check", "prune", "rebind",
        "quarantine", "export", "import",
      ] {
        #expect(spoken.output.contains("\n  \(name) "))
      }
      for status in ExitStatus.allCases { #expect(spoken.output.contains("\(status.rawValue)")) }
    }
  }

  @Test func versionIsToldOnOneLine() {
    let spoken = Spoken(["--version"])
    #expect(spoken.status == 0)
    #expect(spoken.output == "sidecarfs \(Sidecarfs.version)\n")
  }

  /// They are promised: scripts count on them.
  @Test func exitStatusesStay() {
    #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 32, 125, 126, 127])
    #expect(ToolStatus.allCases.map(\.rawValue) == [0, 1, 4, 8, 16, 32])
  }
}
