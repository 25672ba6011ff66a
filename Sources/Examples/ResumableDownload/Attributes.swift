import ExtendedAttributes

/// What a partial file knows about itself. As text, so that `getfattr -d FILE.part` shows it.
extension ExtendedAttributeKey where Value == Int64 {
  /// How long the whole file will be, in bytes.
  static var expected: Self { Self("download.expected", as: .decimal) }
  /// How much of it has arrived, in bytes.
  static var received: Self { Self("download.received", as: .decimal) }
}

extension ExtendedAttributeKey where Value == String {
  /// The server's ETag or, without one, its Last-Modified: by this the file is known again.
  static var validator: Self { Self("download.validator", as: .text) }
  /// The URL.
  static var source: Self { Self("download.source", as: .text) }
}
