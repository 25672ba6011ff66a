import CAllocationCount
import ExtendedAttributes
import Foundation

/// Prints what one read allocates, and what its result alone takes.
func printAllocations(_ path: String) throws {
  let url = URL(fileURLWithPath: path)
  let view = url.extendedAttributes
  if !FileManager.default.fileExists(atPath: path) { try Data().write(to: url) }
  let name: ExtendedAttributeName = "cost.value"
  print("bytes  what      read: count bytes   result: count bytes")
  for length in lengths {
    let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    do {
      try view.set(bytes, for: name)
    } catch {
      guard error.kind == .noSpace else { throw error }
      continue
    }
    try compare(length, "Data") {
      try view.data(for: name)
    } result: {
      bytes.withUnsafeBytes { Data($0) }
    }
    try compare(length, "String") {
      try view.string(for: name)
    } result: {
      String(decoding: bytes, as: UTF8.self)
    }
    try compare(length, "missing") {
      try view.data(for: "cost.missing")
    } result: {
      nil
    }
  }
  try view.remove(name)
}

private func compare<Value>(
  _ length: Int, _ title: String, read: () throws -> Value?, result: () -> Value?
) throws {
  // Whatever is set up once is set up now.
  _ = try (read(), result())
  let start = (allocation_count(), allocation_bytes())
  let value = try read()
  let middle = (allocation_count(), allocation_bytes())
  let other = result()
  let end = (allocation_count(), allocation_bytes())
  withExtendedLifetime((value, other)) {
    print(
      length, title, middle.0 - start.0, middle.1 - start.1, end.0 - middle.0, end.1 - middle.1)
  }
}
