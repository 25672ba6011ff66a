package import ExtendedAttributes
package import Foundation
import TestSupport
import Testing

/// The file systems on which every scenario runs.
package enum PlaceKind: String, CaseIterable, Sendable {
  /// On a loop device.
  case ext4
  /// In memory, with attributes.
  case tmpfs
  /// A mount of ours over a ramfs, which has none itself.
  case mount

}

/// A fresh directory on a file system of a kind, gone with the value.
package final class Place: Sendable {
  /// What it is.
  package let kind: PlaceKind
  /// The directory.
  package let path: String
  private let scratch: Scratch
  private let source: Source
  private let mount: Mount?

  /// Makes one.
  package init(_ kind: PlaceKind) throws {
    self.kind = kind
    scratch = try Scratch()
    switch kind {
    case .ext4: source = try Source(.ext4, in: scratch)
    case .tmpfs: source = try Source(.tmpfs, in: scratch)
    case .mount: source = try Source(.ramfs, in: scratch)
    }
    if kind == .mount {
      let mount = try Mount(source.path, store: scratch.path("store"), in: scratch)
      self.mount = mount
      path = mount.mountPoint
    } else {
      mount = nil
      path = source.path
    }
  }

  /// Unmounts and mounts again, as far as the kind can: a tmpfs would forget all.
  package func remount() throws {
    if let mount { try mount.remount() } else { try source.remount() }
  }

  /// The URL of a name in it; makes nothing.
  package func url(_ name: String) -> URL {
    URL(fileURLWithPath: path + "/" + name)
  }

  /// A new file with a few bytes in it.
  package func file(_ name: String = "file") throws -> URL {
    let url = url(name)
    try Data("contents".utf8).write(to: url)
    return url
  }
}

/// What `body` throws, which has to be an error of the library.
package func failure(_ body: () throws -> Void) -> ExtendedAttributeError? {
  do {
    try body()
    return nil
  } catch {
    return error as? ExtendedAttributeError
  }
}

/// Runs a Python program and returns what it prints; the oracle for values and error numbers.
package func python(
  _ program: String, _ arguments: String...
) throws -> String {
  try check(["python3", "-c", program] + arguments)
}

/// The errno with which Python's own call fails, 0 if it does not.
///
/// - Parameter call: An expression, such as `os.setxattr(p, 'user.a', b'x')`, with the path in `p`.
package func pythonErrno(_ call: String, _ path: String) throws -> Int32 {
  let program = """
    import os, sys
    p = sys.argv[1]
    try:
      \(call)
      print(0)
    except OSError as error:
      print(error.errno)
    """
  return try #require(Int32(python(program, path).trimmingCharacters(in: .whitespacesAndNewlines)))
}

/// A program of this package, built beside the tests.
package func siblingBinary(_ name: String) throws -> String {
  let daemon = try daemonBinary()
  let path = URL(fileURLWithPath: daemon).deletingLastPathComponent().path + "/" + name
  try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is missing")
  return path
}
