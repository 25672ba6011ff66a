import ExtendedAttributes
import Foundation

func remember(_ received: Int64, of part: URL) throws {
  do {
    try part.extendedAttributes.set(string: String(received), for: "com.example.received")
  } catch {
    switch error.kind {
    case .notSupported: print("an interrupted download will start anew: \(error)")
    default: throw error
    }
  }
}

func received(of part: URL) throws -> Int64 {
  try part.extendedAttributes.string(for: "com.example.received").flatMap { Int64($0) } ?? 0
}
