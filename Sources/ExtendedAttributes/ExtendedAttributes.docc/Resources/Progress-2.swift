import ExtendedAttributes
import Foundation

func remember(_ received: Int64, of part: URL) {
  part.setExtendedAttribute(value: String(received), for: "com.example.received")
}

func received(of part: URL) -> Int64 {
  part.extendedAttribute(for: "com.example.received").flatMap { Int64($0) } ?? 0
}
