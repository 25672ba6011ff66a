import Foundation

/// What reading a list or a value came to.
enum ReadOutcome<Result> {
  case success(Result)
  case failure(Int32)
}

/// Sizes of the buffers, in bytes.
enum Room {
  /// On the stack: most values fit, and then one call reads one.
  static let short = 1024
  /// The most that Linux hands over at once, be it a list or a value.
  static let long = 65_536
  /// How often a value that keeps growing is read again before giving up.
  static let attempts = 8
}

/// Reads something whose length is unknown and may change between two calls.
///
/// The first call is made with a buffer on the stack, so that a short value costs one call and no
/// allocation. A longer one is measured, then read into memory of just that size. When it grew in
/// between, it is measured and read again with room to spare, at most ``Room/attempts`` times; on
/// Linux the third read has room for the longest value there can be, so it cannot be too small.
///
/// - Parameters:
///   - call: Fills the buffer and answers the length, or measures when the buffer is empty.
///   - short: Makes the result of bytes that are gone when it returns.
///   - long: Makes the result of bytes that it may keep.
/// - Returns: The result, or the `errno` of the call that failed; `ERANGE` when it kept growing.
@inline(__always)
func read<Result>(
  _ call: (UnsafeMutableRawBufferPointer) -> Int,
  short: (UnsafeRawBufferPointer) -> Result,
  long: (Data) -> Result
) -> ReadOutcome<Result> {
  let first = withUnsafeTemporaryAllocation(byteCount: Room.short, alignment: 1) {
    room -> ReadOutcome<Result> in
    switch retried({ call(room) }) {
    case .success(let length): .success(short(UnsafeRawBufferPointer(rebasing: room[..<length])))
    case .failure(let code): .failure(code)
    }
  }
  guard case .failure(Code.range) = first else { return first }
  return readLong(call, long)
}

/// The part of ``read(_:short:long:)`` for what does not fit on the stack.
@inline(never)
func readLong<Result>(
  _ call: (UnsafeMutableRawBufferPointer) -> Int, _ long: (Data) -> Result
) -> ReadOutcome<Result> {
  var spare = 0
  for attempt in 1...Room.attempts {
    let measured: Int
    switch retried({ call(UnsafeMutableRawBufferPointer(start: nil, count: 0)) }) {
    case .success(let length): measured = length
    case .failure(let code): return .failure(code)
    }
    let (size, overflow) = measured.addingReportingOverflow(spare)
    guard !overflow else { return .failure(Code.range) }
    // A buffer of no bytes would measure again instead of reading.
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, 1), alignment: 1)
    switch retried({ call(room) }) {
    case .success(let length):
      return .success(long(data(owning: room, count: length)))
    case .failure(let code):
      room.deallocate()
      guard code == Code.range else { return .failure(code) }
      spare = attempt == 1 ? Room.long : spare.multipliedReportingOverflow(by: 2).partialValue
    }
  }
  return .failure(Code.range)
}

/// Bytes that `Data` takes over without copying or clearing them first.
private func data(owning room: UnsafeMutableRawBufferPointer, count: Int) -> Data {
  guard let start = room.baseAddress else { return Data() }
  return Data(
    bytesNoCopy: start, count: count, deallocator: .custom { memory, _ in memory.deallocate() })
}

/// Text of bytes, if they are UTF-8 from first to last; nothing is repaired or stripped.
func validText(_ bytes: UnsafeRawBufferPointer) -> String? {
  let text = String(decoding: bytes, as: UTF8.self)
  // Whatever is not UTF-8 was replaced, and then the bytes differ.
  let isSame =
    text.utf8.withContiguousStorageIfAvailable { copy in
      copy.count == bytes.count
        && copy.elementsEqual(bytes)
    } ?? text.utf8.elementsEqual(bytes)
  return isSame ? text : nil
}
