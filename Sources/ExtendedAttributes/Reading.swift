package import Foundation

/// What reading a list or a value came to.
package enum ReadOutcome<Result> {
  case success(Result)
  case failure(Int32)
}

/// Sizes of the buffers, in bytes.
package enum Room {
  /// On the stack: most values fit, and then one call reads one.
  package static let short = 1024
  /// The most that Linux hands over at once, be it a list or a value.
  package static let long = 65_536
  /// How often a value that keeps growing is read again before giving up.
  package static let attempts = 8
}

/// Reads something whose length is unknown and may change between two calls.
///
/// The first call is made with a buffer on the stack, so that a short value costs one call and no
/// allocation. A longer one is measured, then read into memory of just that size. When it grew in
/// between, it is measured and read again with room to spare, at most ``Room/attempts`` times; on
/// Linux the second try has room for the longest value there can be, so it cannot be too small.
///
/// - Parameters:
///   - call: Fills the buffer and answers the length, or measures when the buffer is empty.
///   - short: Makes the result of bytes that are gone when it returns.
///   - long: Makes room of a size, has it filled, and makes the result of it.
/// - Returns: The result, or the `errno` of the call that failed; `ERANGE` when it kept growing.
@inline(__always)
func read<Result>(
  _ call: (UnsafeMutableRawBufferPointer) -> Int,
  short: (UnsafeRawBufferPointer) -> Result,
  long: @escaping (Int, (UnsafeMutableRawBufferPointer) -> Answer) -> ReadOutcome<Result>
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
package func readLong<Result>(
  _ call: (UnsafeMutableRawBufferPointer) -> Int,
  _ long: @escaping (Int, (UnsafeMutableRawBufferPointer) -> Answer) -> ReadOutcome<Result>
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
    let outcome = long(max(size, 1)) { room in retried { call(room) } }
    guard case .failure(Code.range) = outcome else { return outcome }
    spare = attempt == 1 ? Room.long : spare.multipliedReportingOverflow(by: 2).partialValue
  }
  return .failure(Code.range)
}

/// Reads into memory that `Data` takes over, without clearing or copying it.
package func longData(
  _ size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Answer
) -> ReadOutcome<Data> {
  guard let memory = malloc(size) else { return .failure(ENOMEM) }
  switch fill(UnsafeMutableRawBufferPointer(start: memory, count: size)) {
  case .success(let count):
    return .success(Data(bytesNoCopy: memory, count: count, deallocator: .free))
  case .failure(let code):
    free(memory)
    return .failure(code)
  }
}

/// Reads into the memory of a string; the inner result is `nil` for bytes that are not UTF-8.
func longText(
  _ size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Answer
) -> ReadOutcome<String?> {
  var failure: Int32?
  var isText = false
  let text = String(unsafeUninitializedCapacity: size) { room in
    switch fill(UnsafeMutableRawBufferPointer(room)) {
    case .success(let count):
      isText = isUTF8(UnsafeBufferPointer(rebasing: room[..<count]))
      return isText ? count : 0
    case .failure(let code):
      failure = code
      return 0
    }
  }
  if let failure { return .failure(failure) }
  return .success(isText ? text : nil)
}

/// Reads a list of names.
func longList(
  _ size: Int, _ fill: (UnsafeMutableRawBufferPointer) -> Answer
) -> ReadOutcome<[ExtendedAttributeName]> {
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
  defer { room.deallocate() }
  switch fill(room) {
  case .success(let count):
    return .success(names(in: UnsafeRawBufferPointer(rebasing: room[..<count])))
  case .failure(let code): return .failure(code)
  }
}

/// The names in a list as the system lays it out: a NUL after each.
func names(in list: UnsafeRawBufferPointer) -> [ExtendedAttributeName] {
  list.split(separator: 0).map { ExtendedAttributeName(nativeBytes: $0) }
}

/// Text of bytes, if they are UTF-8 from first to last; nothing is repaired or stripped.
func validText(_ bytes: UnsafeRawBufferPointer) -> String? {
  let bytes = bytes.bindMemory(to: UInt8.self)
  return isUTF8(bytes) ? String(decoding: bytes, as: UTF8.self) : nil
}

/// Whether bytes are UTF-8 from first to last; the standard library would repair them instead.
private func isUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  let raw = UnsafeRawBufferPointer(bytes)
  var index = 0
  func word(_ offset: Int) -> UInt64 {
    raw.loadUnaligned(fromByteOffset: index + offset, as: UInt64.self)
  }
  // Many at a time as long as they are ASCII: most attributes are.
  while index + 32 <= raw.count,
    (word(0) | word(8) | word(16) | word(24)) & 0x8080_8080_8080_8080 == 0
  {
    index += 32
  }
  var decoder = Unicode.UTF8.ForwardParser()
  var rest = bytes[index...].makeIterator()
  while true {
    switch decoder.parseScalar(from: &rest) {
    case .valid: continue
    case .emptyInput: return true
    case .error: return false
    }
  }
}
