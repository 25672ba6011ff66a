import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

/// Each error number against Python's own call on the same file.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct ErrorTests {
  /// A call of the library and the same in Python.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let python: String
    let name: ExtendedAttributeName
    var options: ExtendedAttributeView.SetOptions = []
    let kind: ExtendedAttributeError.Kind
  }

  static let settings: [Case] = [
    Case(
      testDescription: "create", python: "os.setxattr(p, 'user.there', b'x', os.XATTR_CREATE)",
      name: "there", options: .create, kind: .exists),
    Case(
      testDescription: "replace", python: "os.setxattr(p, 'user.no', b'x', os.XATTR_REPLACE)",
      name: "no", options: .replace, kind: .missing),
    Case(
      testDescription: "no namespace", python: "os.setxattr(p, 'com.example.x', b'x')",
      name: .native("com.example.x"), kind: .nameNotAllowed),
    Case(
      testDescription: "namespace alone", python: "os.setxattr(p, 'user.', b'x')",
      name: "user.", kind: .nameNotAllowed),
    Case(
      testDescription: "too long", python: "os.setxattr(p, 'user.' + 'n' * 251, b'x')",
      name: ExtendedAttributeName(String(repeating: "n", count: 251)), kind: .nameNotAllowed),
    Case(
      testDescription: "empty", python: "os.setxattr(p, '', b'x')",
      name: .native(""), kind: .nameNotAllowed),
    Case(
      testDescription: "unknown system name", python: "os.setxattr(p, 'system.no', b'x')",
      name: "system.no", kind: .notSupported),
  ]

  @Test(arguments: PlaceKind.allCases, settings)
  func settingFailsAsItDoesElsewhere(_ kind: PlaceKind, _ example: Case) throws {
    let place = try Place(kind)
    let url = try place.file()
    try url.extendedAttributes.set(Data([1]), for: "there")
    let error = failure {
      try url.extendedAttributes.set(Data("x".utf8), for: example.name, options: example.options)
    }
    #expect(error?.errno == (try pythonErrno(example.python, url.path)))
    #expect(error?.kind == example.kind)
    #expect(error?.operation == .set)
    #expect(error?.call == "setxattr")
    #expect(error?.name == example.name)
    #expect(error?.path == url.path)
    #expect(error?.description.contains(url.path) == true)
  }

  @Test func aNameWithANulIsRefused() throws {
    let place = try Place(.tmpfs)
    let attributes = try place.file().extendedAttributes
    for error in [
      failure { try attributes.set(Data(), for: "a\0b") },
      failure { try attributes.remove("a\0b") },
      failure { _ = try attributes.data(for: "a\0b") },
    ] { #expect(error?.kind == .nameNotAllowed) }
    #expect(try attributes.names() == [])
  }

  @Test(arguments: PlaceKind.allCases)
  func aMissingFileSaysSo(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let missing = place.url("missing").extendedAttributes
    let errors = [
      failure { _ = try missing.names() }, failure { _ = try missing.data(for: "a") },
      failure { try missing.set(Data(), for: "a") }, failure { try missing.remove("a") },
      failure { _ = try missing.contains("a") }, failure { _ = try missing.all() },
      failure { try missing.removeAll() }, failure { try missing.copy(to: missing) },
    ]
    for error in errors {
      #expect(error?.kind == .noSuchItem)
      #expect(error?.errno == ENOENT)
    }
    let file = try place.file()
    let below = ExtendedAttributeView(path: file.path + "/below")
    #expect(failure { _ = try below.data(for: "a") }?.errno == ENOTDIR)
  }

  @Test func aFileSystemWithoutAttributesSaysSo() throws {
    let scratch = try Scratch()
    let source = try Source(.ramfs, in: scratch)
    let url = URL(fileURLWithPath: source.path + "/file")
    try Data().write(to: url)
    let attributes = url.extendedAttributes
    let set = failure { try attributes.set(Data([1]), for: "com.example.key") }
    #expect(set?.kind == .notSupported)
    #expect(set?.errno == (try pythonErrno("os.setxattr(p, 'user.a', b'x')", url.path)))
    #expect(
      set?.description
        == "Cannot set the attribute \"com.example.key\" of \"\(url.path)\": extended attributes "
        + "are not supported here (setxattr, user.com.example.key, EOPNOTSUPP)")
    #expect(set?.localizedDescription == set?.description)
    #expect(failure { _ = try attributes.data(for: "a") }?.kind == .notSupported)
    #expect(failure { try attributes.remove("a") }?.kind == .notSupported)
    #expect(failure { _ = try attributes.contains("a") }?.kind == .notSupported)
    #expect(try attributes.all().isEmpty)
    #expect(!url.setExtendedAttribute(value: "x", for: "com.example.key"))
    #expect(url.extendedAttribute(for: "com.example.key") == nil)
  }

  @Test(arguments: PlaceKind.allCases)
  func aFileWithoutPermissionSaysSo(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    try url.extendedAttributes.set(Data([1]), for: "a")
    try #require(chmod(url.path, 0o600) == 0)
    let path = url.path
    let errors = onThread { () -> [ExtendedAttributeError?] in
      let view = ExtendedAttributeView(path: path)
      return
        (try? asUser(User(65_534)) {
          [
            failure { _ = try view.data(for: "a") }, failure { try view.set(Data(), for: "a") },
            failure { try view.remove("a") },
          ]
        }) ?? []
    }
    #expect(errors.map { $0?.kind } == [.notPermitted, .notPermitted, .notPermitted])
    #expect(errors.map { $0?.errno } == [EACCES, EACCES, EACCES])
    #expect(try url.extendedAttributes.data(for: "a") == Data([1]))
  }

  @Test func aReadOnlyFileSystemSaysSo() throws {
    let scratch = try Scratch()
    let source = try Source(.ext4, in: scratch)
    let url = URL(fileURLWithPath: source.path + "/file")
    try Data().write(to: url)
    try url.extendedAttributes.set(Data([1]), for: "a")
    try source.remount(readOnly: true)
    let error = failure { try url.extendedAttributes.set(Data([2]), for: "a") }
    #expect(error?.kind == .notPermitted)
    #expect(error?.errno == EROFS)
    #expect(error?.description.contains("read-only") == true)
    #expect(try url.extendedAttributes.data(for: "a") == Data([1]))
  }

  @Test func whatIsNoFileIsRefused() throws {
    for view in [
      ExtendedAttributeView(url: URL(string: "https://example.com/file")!),
      ExtendedAttributeView(path: "/tmp/a\0b"),
    ] {
      let error = failure { try view.set(Data(), for: "a") }
      #expect(error?.kind == .notAFileURL)
      #expect(failure { _ = try view.names() }?.kind == .notAFileURL)
    }
    let closed = failure { _ = try ExtendedAttributeView(fileDescriptor: -1).names() }
    #expect(closed?.errno == EBADF)
    #expect(closed?.kind == .other)
    #expect(closed?.description.contains("flistxattr, EBADF") == true)
  }

  @Test func anErrorCanBeCaughtByItsKind() throws {
    let place = try Place(.tmpfs)
    let attributes = try place.file().extendedAttributes
    // Swift 6.3.1 does not get through the compilation of a typed `do` with such a pattern.
    do throws(any Error) {
      try attributes.set(Data(), for: "a", options: .replace)
      Issue.record("nothing was thrown")
    } catch ExtendedAttributeError.Kind.missing {}
    let anything: any Error = try #require(
      failure { try attributes.set(Data(), for: "a", options: .replace) })
    #expect(ExtendedAttributeError.Kind.missing ~= anything)
    #expect(!(ExtendedAttributeError.Kind.exists ~= anything))
    #expect(!(ExtendedAttributeError.Kind.missing ~= CocoaError(.fileNoSuchFile)))
  }
}
