import Foundation

/// How the operations reach the system and what they make of its answer.
extension ExtendedAttributeView {
  /// Runs `body` with what the system calls want to be given.
  @inline(__always)
  func withTarget<Result>(_ body: (Target) -> Result) -> Result {
    switch item {
    case .path(let path, let follows):
      path.withUnsafeBufferPointer { bytes in
        guard let start = bytes.baseAddress else { return body(.descriptor(-1)) }
        return body(.path(start, followsSymlinks: follows))
      }
    case .descriptor(let descriptor): body(.descriptor(descriptor))
    case .handle(let handle): body(.descriptor(handle.fileDescriptor))
    case .notAFile: body(.descriptor(-1))
    }
  }

  /// Reads an attribute; `nil` if it is not there.
  @inline(__always)
  func value<Result>(
    for name: ExtendedAttributeName, short: (UnsafeRawBufferPointer) -> Result,
    long: @escaping (Int, (UnsafeMutableRawBufferPointer) -> Answer) -> ReadOutcome<Result>
  ) throws(ExtendedAttributeError) -> Result? {
    let outcome = withTarget { $0.value(of: name, short: short, long: long) }
    switch outcome {
    case .success(let result): return result
    case .failure(Code.noAttribute): return nil
    case .failure(let code): throw error(code, .get, name)
    }
  }

  func result<Result>(
    of outcome: ReadOutcome<Result>, _ operation: ExtendedAttributeError.Operation,
    _ name: ExtendedAttributeName?
  ) throws(ExtendedAttributeError) -> Result {
    switch outcome {
    case .success(let result): return result
    case .failure(let code): throw error(code, operation, name)
    }
  }

  /// The error of a system call that failed on this item.
  @inline(never)
  func error(
    _ code: Int32, _ operation: ExtendedAttributeError.Operation, _ name: ExtendedAttributeName?
  ) -> ExtendedAttributeError {
    if case .notAFile = item {
      return ExtendedAttributeError(.notAFileURL, operation, name, path: path, reason: nil)
    }
    return ExtendedAttributeError(
      code, operation, name, call: callPrefix + operation.rawValue + "xattr", path: path)
  }

  /// The error of a value that does not fit its type or format.
  @inline(never)
  func invalid(
    _ operation: ExtendedAttributeError.Operation, _ name: ExtendedAttributeName, _ reason: String
  ) -> ExtendedAttributeError {
    ExtendedAttributeError(.invalidValue, operation, name, path: path, reason: reason)
  }

  /// The path for a person to read; of an open file, its number.
  var path: String {
    switch item {
    case .path(let path, _):
      String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    case .descriptor(let descriptor): "descriptor \(descriptor)"
    case .handle(let handle): "descriptor \(handle.fileDescriptor)"
    case .notAFile(let text): text
    }
  }

  private var callPrefix: String {
    switch item {
    case .path(_, followsSymlinks: false):
      #if canImport(Darwin)
        ""
      #else
        "l"
      #endif
    case .path, .notAFile: ""
    case .descriptor, .handle: "f"
    }
  }
}

extension Target {
  /// Reads an attribute.
  @inline(__always)
  func value<Result>(
    of name: ExtendedAttributeName, short: (UnsafeRawBufferPointer) -> Result,
    long: @escaping (Int, (UnsafeMutableRawBufferPointer) -> Answer) -> ReadOutcome<Result>
  ) -> ReadOutcome<Result> {
    name.withNative { native in
      read({ get(native, $0) }, short: short, long: long)
    } failure: {
      .failure($0)
    }
  }
}
