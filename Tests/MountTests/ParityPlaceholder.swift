import TestSupport
import Testing

@Suite(.needsFuse, .needsLoop) struct Sources {
  @Test(arguments: SourceKind.allCases) func mount(_ kind: SourceKind) throws {
    let scratch = try Scratch()
    let source = try mountSource(kind, in: scratch)
    #expect(try mounts().contains { $0.path == source.path && $0.kind == kind.rawValue })
  }
}
