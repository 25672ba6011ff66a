import Foundation

/// Reads JSON as any program would; names have underscores there.
func decodeJSON<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
  let decoder = JSONDecoder()
  decoder.keyDecodingStrategy = .convertFromSnakeCase
  return try decoder.decode(type, from: Data(bytes))
}
