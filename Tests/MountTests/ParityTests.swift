import TestSupport
import Testing

/// The mount answers as a native file system does, call by call, value and errno.
///
/// Each line of a case's transcript must be what tmpfs answers, or what another native does where
/// they differ among themselves (`ParityCase.Oracle` says which count), or be in
/// `meantDifferences`.
@Suite(.needsFuse, .needsLoop, ParityScope()) struct Parity {
  @Test(arguments: ParityCase.all) func parity(_ parityCase: ParityCase) async throws {
    let fixture = try #require(ParityFixture.current)
    var natives: [SourceKind: [String]] = [:]
    for place in fixture.natives {
      natives[place.kind] = try await fixture.transcript(of: parityCase, in: place)
    }
    fixture.compareNatives(natives, of: parityCase)
    for place in fixture.mounts {
      guard let lines = try await fixture.transcript(of: parityCase, in: place) else { continue }
      let accepted = parityCase.oracle.kinds(source: place.kind).compactMap { kind in
        natives[kind].map { (kind: kind, lines: $0) }
      }
      fixture.compare(lines, with: accepted, in: place, of: parityCase)
    }
  }

  /// What a read-only mount refuses, and in which words: over sources that could be written to.
  @Test func readOnly() async throws {
    let fixture = try #require(ParityFixture.current)
    let scratch = try Scratch()
    let parityCase = ParityCase.readOnly
    var natives: [SourceKind: [String]] = [:]
    for kind in fixture.natives.map(\.kind) {
      let source = try Source(kind, in: scratch, named: "native-\(kind)")
      let place = Place(kind: kind, isMount: false, path: source.path)
      _ = try await fixture.transcript(of: .beforeReadOnly, in: place, keep: true)
      try source.remount(readOnly: true)
      natives[kind] = try await fixture.transcript(of: parityCase, in: place, keep: true)
    }
    fixture.compareNatives(natives, of: parityCase)
    for kind in fixture.mounts.map(\.kind) {
      let source = try Source(kind, in: scratch, named: "source-\(kind)")
      let store = try scratch.directory("store-\(kind)")
      let mount = try Mount(
        source.path, store: store, options: ParityFixture.options, in: scratch)
      let place = Place(kind: kind, isMount: true, path: mount.mountPoint)
      _ = try await fixture.transcript(of: .beforeReadOnly, in: place, keep: true)
      try mount.remount(options: ParityFixture.options + ["-o", "ro"])
      let lines = try await fixture.transcript(of: parityCase, in: place, keep: true)
      let accepted = parityCase.oracle.kinds(source: kind).compactMap { kind in
        natives[kind].map { (kind: kind, lines: $0) }
      }
      if let lines { fixture.compare(lines, with: accepted, in: place, of: parityCase) }
      try mount.unmount()
    }
  }
}

extension ParityCase {
  /// Every case there is, but for those of a read-only mount.
  static let all =
    attributeNames + attributeValues + attributeObjects + attributeLife + attributeUsers
    + attributeSystem + opening + directories + renaming + names + status + users + data + sharing
}
