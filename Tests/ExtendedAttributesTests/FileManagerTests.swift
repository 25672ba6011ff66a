import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// Foundation's own dictionaries and the calls beside them.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct FileManagerTests {
  @Test(arguments: PlaceKind.allCases)
  func theDictionariesOfFoundationShowThem(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let files = FileManager.default
    let name: ExtendedAttributeName = "com.example.key"
    try url.extendedAttributes.set(string: "value", for: name)
    let shown = try files.attributesOfItem(atPath: url.path)
    #expect(
      shown[.extendedAttributes] as? [String: Data] == [name.native: Data("value".utf8)])
    #expect((shown[.size] as? NSNumber)?.intValue == 8)
    #expect(shown[.type] as? FileAttributeType == .typeRegular)
    #expect(shown[.modificationDate] is Date)
    #expect(shown[.posixPermissions] is NSNumber)

    try files.setAttributes(
      [.extendedAttributes: [ExtendedAttributeName("other").native: Data([1])]],
      ofItemAtPath: url.path)
    #expect(try url.extendedAttributes.data(for: "other") == Data([1]))
    #expect(try url.extendedAttributes.string(for: name) == "value")
  }

  @Test(arguments: PlaceKind.allCases)
  func allOfThemAreReadAndWritten(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let path = try place.file().path
    let files = FileManager.default
    #expect(try files.extendedAttributes(ofItemAtPath: path) == [:])
    try files.setExtendedAttributes(
      ["a": Data([1]), "empty": Data(), "gone": Data([2])], ofItemAtPath: path)
    try files.setExtendedAttributes(["gone": nil, "b": Data([3])], ofItemAtPath: path)
    #expect(
      try files.extendedAttributes(ofItemAtPath: path) == [
        "a": Data([1]), "empty": Data(), "b": Data([3]),
      ])
    let link = place.url("link").path
    try files.createSymbolicLink(atPath: link, withDestinationPath: path)
    #expect(try files.extendedAttributes(ofItemAtPath: link).count == 3)
    #expect(
      try files.extendedAttributes(ofItemAtPath: link, followingSymlinks: false).isEmpty)
  }

  @Test(arguments: PlaceKind.allCases)
  func copiesKeepThem(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let files = FileManager.default
    let tree = place.url("tree")
    try files.createDirectory(
      at: tree.appendingPathComponent("sub"), withIntermediateDirectories: true)
    let file = tree.appendingPathComponent("sub/file é")
    try Data("contents".utf8).write(to: file)
    try tree.extendedAttributes.set(string: "tree", for: "which")
    try file.extendedAttributes.set(string: "file", for: "which")
    try file.extendedAttributes.set(Data(), for: "empty")
    try files.createSymbolicLink(
      atPath: tree.path + "/link", withDestinationPath: "sub/file é")

    let copy = place.url("copy")
    try files.copyItemPreservingExtendedAttributes(at: tree, to: copy)
    #expect(try copy.extendedAttributes.string(for: "which") == "tree")
    let copied = copy.appendingPathComponent("sub/file é")
    #expect(try copied.extendedAttributes.string(for: "which") == "file")
    #expect(try copied.extendedAttributes.data(for: "empty") == Data())
    #expect(try Data(contentsOf: copied) == Data("contents".utf8))
    #expect(
      try files.destinationOfSymbolicLink(atPath: copy.path + "/link") == "sub/file é")
    try files.copyItemPreservingExtendedAttributes(
      atPath: file.path, toPath: place.path + "/single")
    #expect(try place.url("single").extendedAttributes.string(for: "which") == "file")
    #expect(throws: (any Error).self) {
      try files.copyItemPreservingExtendedAttributes(at: tree, to: copy)
    }
    #expect(try copied.extendedAttributes.string(for: "which") == "file")
  }

  @Test func aCopyThatCannotKeepThemIsNotMade() throws {
    let place = try Place(.tmpfs)
    let scratch = try Scratch()
    let ramfs = try Source(.ramfs, in: scratch)
    let files = FileManager.default
    let file = try place.file()
    // Nothing to keep: the copy is fine. Something to keep: it is refused, whole.
    try files.copyItemPreservingExtendedAttributes(atPath: file.path, toPath: ramfs.path + "/a")
    try file.extendedAttributes.set(Data([1]), for: "a")
    let error = failure {
      try files.copyItemPreservingExtendedAttributes(atPath: file.path, toPath: ramfs.path + "/b")
    }
    #expect(error?.kind == .notSupported)
    #expect(try files.contentsOfDirectory(atPath: ramfs.path) == ["a"])
    // From a file system without attributes to one with.
    try files.copyItemPreservingExtendedAttributes(
      atPath: ramfs.path + "/a", toPath: place.path + "/c")
  }
}
