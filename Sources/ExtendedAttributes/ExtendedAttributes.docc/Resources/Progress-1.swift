import Foundation

extension URL {
  func extendedAttribute(for name: String) -> String? {
    withUnsafeFileSystemRepresentation { path in
      let length = getxattr(path, name, nil, 0, 0, 0)
      guard length >= 0 else { return nil }
      var data = Data(count: length)
      let result = data.withUnsafeMutableBytes {
        getxattr(path, name, $0.baseAddress, length, 0, 0)
      }
      guard result >= 0 else { return nil }
      return String(data: data, encoding: .utf8)
    }
  }

  @discardableResult
  func setExtendedAttribute(value: String, for name: String) -> Bool {
    let data = Data(value.utf8)
    return withUnsafeFileSystemRepresentation { path in
      data.withUnsafeBytes { setxattr(path, name, $0.baseAddress, data.count, 0, 0) == 0 }
    }
  }
}

func remember(_ received: Int64, of part: URL) {
  part.setExtendedAttribute(value: String(received), for: "com.example.received")
}

func received(of part: URL) -> Int64 {
  part.extendedAttribute(for: "com.example.received").flatMap { Int64($0) } ?? 0
}
