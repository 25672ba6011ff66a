import Foundation

/// The name of an attribute together with the type of its value and how it is kept.
///
/// Declare the attributes of a program once, and use them without repeating how they are coded:
///
/// ```swift
/// extension ExtendedAttributeKey where Value == Int {
///   static var received: Self { Self("com.example.received", as: .decimal) }
/// }
///
/// try url.extendedAttributes.set(1_024, for: .received)
/// let received = try url.extendedAttributes[.received] ?? 0
/// ```
public struct ExtendedAttributeKey<Value>: Sendable {
  /// The name of the attribute.
  public let name: ExtendedAttributeName

  /// How its value is kept.
  public let coding: ExtendedAttributeCoding<Value>

  /// A key for an attribute that is kept in a coding.
  ///
  /// - Parameters:
  ///   - name: The name of the attribute.
  ///   - coding: How its value is kept.
  public init(_ name: ExtendedAttributeName, as coding: ExtendedAttributeCoding<Value>) {
    self.name = name
    self.coding = coding
  }
}

extension ExtendedAttributeKey where Value: Codable & SendableMetatype {
  /// A key for an attribute that is kept as a binary property list.
  ///
  /// - Parameter name: The name of the attribute.
  public init(_ name: ExtendedAttributeName) {
    self.init(name, as: .propertyList)
  }
}

extension ExtendedAttributeView {
  /// The value of the attribute that a key describes.
  ///
  /// - Parameter key: The key.
  /// - Returns: The value, or `nil` if there is no such attribute.
  /// - Throws: ``ExtendedAttributeError``, as ``value(_:for:as:)``.
  ///
  /// The corresponding system call is `getxattr`.
  public func value<Value>(
    for key: ExtendedAttributeKey<Value>
  ) throws(ExtendedAttributeError) -> Value? {
    try value(for: key.name, as: key.coding)
  }

  /// The value of the attribute that a key describes, as ``value(for:)`` reads it.
  ///
  /// - Parameter key: The key.
  public subscript<Value>(key: ExtendedAttributeKey<Value>) -> Value? {
    get throws(ExtendedAttributeError) { try value(for: key) }
  }

  /// Writes the attribute that a key describes.
  ///
  /// - Parameters:
  ///   - value: The value; `nil` removes the attribute, whatever the options.
  ///   - key: The key.
  ///   - options: Whether the attribute must not, or must, exist.
  /// - Throws: ``ExtendedAttributeError``, as ``set(value:for:as:options:)`` and
  ///   ``remove(_:)-(ExtendedAttributeName)``.
  ///
  /// The corresponding system call is `setxattr`, or `removexattr` for `nil`.
  public func set<Value>(
    _ value: Value?, for key: ExtendedAttributeKey<Value>, options: SetOptions = []
  ) throws(ExtendedAttributeError) {
    guard let value else {
      try remove(key.name)
      return
    }
    try set(value: value, for: key.name, as: key.coding, options: options)
  }

  /// Removes the attribute that a key describes, if it is there.
  ///
  /// - Parameter key: The key.
  /// - Returns: Whether it was there.
  /// - Throws: ``ExtendedAttributeError``, as ``remove(_:)-(ExtendedAttributeName)``.
  ///
  /// The corresponding system call is `removexattr`.
  @discardableResult
  public func remove<Value>(
    _ key: ExtendedAttributeKey<Value>
  ) throws(ExtendedAttributeError) -> Bool {
    try remove(key.name)
  }

  /// Whether there is the attribute that a key describes; its value is not read.
  ///
  /// - Parameter key: The key.
  /// - Throws: ``ExtendedAttributeError``, as ``contains(_:)-(ExtendedAttributeName)``.
  ///
  /// The corresponding system call is `getxattr` with a buffer of no bytes.
  public func contains<Value>(
    _ key: ExtendedAttributeKey<Value>
  ) throws(ExtendedAttributeError) -> Bool {
    try contains(key.name)
  }
}
