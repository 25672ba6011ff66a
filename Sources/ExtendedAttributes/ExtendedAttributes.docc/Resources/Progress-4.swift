import ExtendedAttributes
import Foundation

extension ExtendedAttributeKey where Value == Int64 {
  static var received: Self { Self("com.example.received", as: .decimal) }
}

func remember(_ received: Int64, of part: URL) throws(ExtendedAttributeError) {
  try part.extendedAttributes.set(received, for: .received)
}

func received(of part: URL) throws(ExtendedAttributeError) -> Int64 {
  try part.extendedAttributes[.received] ?? 0
}
