import ClientTestSupport
import ExtendedAttributes
import Foundation
import LinuxSystem
import TestSupport
import Testing

/// Values and lists that change while they are read.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct GrowingTests {
  /// A writer changes the value between short and long; each read gets one of them, whole.
  @Test(arguments: PlaceKind.allCases)
  func aReaderNeverSeesAPieceOrAnError(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let lengths = kind == .ext4 ? [0, 300, 700, 900] : [0, 900, 1025, 5000, 65_536]
    try url.extendedAttributes.set(Data(), for: "v")
    let isDone = Lock(false)
    let writes = Lock(0)
    let writer = Thread {
      var index = 0
      while !isDone.withLock({ $0 }) {
        let length = lengths[index % lengths.count]
        let byte = UInt8(index % lengths.count)
        try? url.extendedAttributes.set([UInt8](repeating: byte, count: length), for: "v")
        index += 1
        writes.withLock { $0 = index }
      }
    }
    writer.start()
    defer { isDone.withLock { $0 = true } }
    let attributes = url.extendedAttributes
    let deadline = ContinuousClock.now + .seconds(20)
    var reads = 0
    while (reads < 5000 || writes.withLock { $0 } < 5000) && ContinuousClock.now < deadline {
      let value = try #require(try attributes.data(for: "v"))
      let index = try #require(lengths.firstIndex(of: value.count))
      if !value.allSatisfy({ $0 == UInt8(index) }) { Issue.record("mixed: \(value.count) bytes") }
      if reads % 10 == 0 { #expect(try attributes.all().count == 1) }
      reads += 1
    }
    #expect(reads >= 1000, "\(reads) reads, \(writes.withLock { $0 }) writes")
  }

  /// A source that answers longer each time it is asked.
  @Test func aValueThatKeepsGrowingIsGivenUpInTheEnd() {
    var length = 2000
    var calls = 0
    let outcome = readLong(
      { room in
        calls += 1
        guard room.count > 0 else { return length }
        length = room.count + 1
        errno = ERANGE
        return -1
      }, longData)
    guard case .failure(ERANGE) = outcome else {
      Issue.record("it was read: \(outcome)")
      return
    }
    #expect(calls == 2 * Room.attempts)
  }

  /// The largest jump there is, from nothing to the limit, takes one more try.
  @Test func aValueThatGrowsOnceIsReadAgain() throws {
    var length = 2000
    var calls = 0
    let outcome = readLong(
      { room in
        calls += 1
        guard room.count > 0 else { return length }
        if length == 2000 { length = 65_536 }
        guard room.count >= length else {
          errno = ERANGE
          return -1
        }
        memset(room.baseAddress!, 7, length)
        return length
      }, longData)
    guard case .success(let data) = outcome else {
      Issue.record("it was not read: \(outcome)")
      return
    }
    #expect(data == Data(repeating: 7, count: 65_536))
    #expect(calls == 4)
  }

  /// Removed between measuring and reading; interrupted by a signal.
  @Test func otherAnswersAreHandedOn() {
    var calls = 0
    let gone = readLong(
      { room in
        calls += 1
        guard room.count > 0 else { return 2000 }
        errno = calls == 2 ? EINTR : ENODATA
        return -1
      }, longData)
    guard case .failure(ENODATA) = gone else {
      Issue.record("\(gone)")
      return
    }
    #expect(calls == 3)
  }
}
