import Foundation
import LinuxSystem
import Testing

@testable import Commands

/// What is written is what Foundation reads.
@Suite struct JSONText {
  private func read(_ value: JSON) throws -> Any {
    try JSONSerialization.jsonObject(
      with: Data(value.text.utf8), options: [.fragmentsAllowed])
  }

  @Test func everyCharacterComesBack() throws {
    let text = String(String.UnicodeScalarView((0..<0x300).compactMap(Unicode.Scalar.init)))
    for text in [text, "", "\"", "\\\"", "\u{1F600}\u{2028}\u{FFFD}", "a\r\nb"] {
      #expect(try read(.string(text)) as? String == text)
    }
  }

  @Test func structureComesBack() throws {
    let value = JSON.object([
      .init(name: "a \"name\"", value: .array([.number(.min), .number(.max), .bool(true)])),
      .init(name: "empty", value: .object([])),
      .init(name: "none", value: .array([])),
    ])
    let read = try #require(try read(value) as? [String: Any])
    #expect((read["a \"name\""] as? [Any])?.first as? Int == .min)
    #expect((read["a \"name\""] as? [Any])?[1] as? Int == .max)
    #expect((read["a \"name\""] as? [Any])?[2] as? Bool == true)
    #expect((read["empty"] as? [String: Any])?.isEmpty == true)
    #expect((read["none"] as? [Any])?.isEmpty == true)
  }
}
