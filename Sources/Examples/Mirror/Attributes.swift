import ExtendedAttributes

/// What a mirrored file knows about its original. As text, so that `getfattr -d FILE` shows it.
extension ExtendedAttributeKey where Value == String {
  /// The server's ETag, as it was sent.
  static var tag: Self { Self("mirror.etag", as: .text) }
  /// The server's Last-Modified, as it was sent.
  static var lastModified: Self { Self("mirror.last-modified", as: .text) }
}

/// Length and time of the copy when it was made: whatever changed it since changed these.
struct Stamp: Codable, Equatable, Sendable {
  var bytes: Int64
  var seconds: Int64
  var nanoseconds: Int64
}

extension ExtendedAttributeKey where Value == Stamp {
  /// The copy as it was left.
  static var stamp: Self { Self("mirror.stamp", as: .json) }
}
