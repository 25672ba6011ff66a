import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// Directories, symbolic links, open files.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct ObjectTests {
  @Test(arguments: PlaceKind.allCases)
  func directoriesHaveAttributes(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = place.url("directory")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
    for url in [url, URL(fileURLWithPath: url.path, isDirectory: true), place.url("")] {
      try url.extendedAttributes.set(string: "here", for: "place")
      #expect(try url.extendedAttributes.string(for: "place") == "here")
      #expect(try url.extendedAttributes.names() == ["place"])
    }
  }

  @Test(arguments: PlaceKind.allCases)
  func symbolicLinksAreFollowedOrNot(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let file = try place.file()
    let link = place.url("link")
    try FileManager.default.createSymbolicLink(
      atPath: link.path, withDestinationPath: file.lastPathComponent)
    let itself = link.extendedAttributes(followingSymlinks: false)

    try link.extendedAttributes.set(Data([1]), for: "a")
    #expect(try file.extendedAttributes.data(for: "a") == Data([1]))
    #expect(try itself.data(for: "a") == nil)
    #expect(try itself.names() == [])

    // The kernel allows no user attributes on the link itself, but those of root.
    let error = failure { try itself.set(Data([2]), for: "a") }
    #expect(error?.kind == .notPermitted)
    #expect(
      error?.errno
        == (try pythonErrno("os.setxattr(p, 'user.a', b'x', follow_symlinks=False)", link.path)))
    #expect(error?.call == "lsetxattr")
    try itself.set(Data([3]), for: "trusted.a")
    #expect(try itself.names() == ["trusted.a"])
    #expect(try itself.data(for: "trusted.a") == Data([3]))
    #expect(try link.extendedAttributes.data(for: "trusted.a") == nil)
    #expect(try itself.remove("trusted.a"))

    try FileManager.default.removeItem(at: file)
    #expect(failure { _ = try link.extendedAttributes.names() }?.kind == .noSuchItem)
    #expect(try itself.names() == [])
  }

  @Test(arguments: PlaceKind.allCases)
  func openFilesHaveThemWithAndWithoutAName(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let handle = try FileHandle(forReadingFrom: url)
    defer { try? handle.close() }
    let views = [
      handle.extendedAttributes, ExtendedAttributeView(fileDescriptor: handle.fileDescriptor),
      ExtendedAttributeView(pathBytes: Array(url.path.utf8)),
      ExtendedAttributeView(path: url.path), url.extendedAttributes,
    ]
    for (index, view) in views.enumerated() {
      try view.set(string: "\(index)", for: "a")
      for other in views { #expect(try other.string(for: "a") == "\(index)") }
      for other in views { #expect(try other.names() == ["a"]) }
    }
    try FileManager.default.removeItem(at: url)
    let view = handle.extendedAttributes
    #expect(try view.string(for: "a") == "4")
    try view.set(string: "gone", for: "b")
    #expect(try Set(view.all().map(\.name)) == ["a", "b"])
    #expect(try view.remove("a"))
    #expect(failure { try view.set(Data(), for: "c", options: .replace) }?.call == "fsetxattr")
  }
}
