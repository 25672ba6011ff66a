import LinuxSystem

/// What a journal asks of the disk, for a test that lets the power fail; a release build tells nobody.
enum JournalRequest: Sendable {
  case create(String)
  case write(String, at: Int, [UInt8])
  /// Content, without the name.
  case sync(String)
  /// The names in the directory.
  case syncNames
  case delete(String)

  #if DEBUG
    /// Who is told of each request once it was made, and of the path of the directory.
    static let watcher = Lock<(@Sendable (JournalRequest, String) -> Void)?>(nil)
  #endif

  static func tell(_ request: JournalRequest, of directory: borrowing FileDescriptor) {
    #if DEBUG
      guard let watcher = watcher.withLock({ $0 }), let path = path(of: directory) else { return }
      watcher(request, path)
    #endif
  }

  static func tell(_ request: JournalRequest, below file: borrowing FileDescriptor) {
    #if DEBUG
      guard let watcher = watcher.withLock({ $0 }), let path = path(of: file),
        let slash = path.lastIndex(of: "/")
      else { return }
      watcher(request, String(path[..<slash]))
    #endif
  }

  #if DEBUG
    private static func path(of file: borrowing FileDescriptor) -> String? {
      try? FileDescriptor.open(file.procPath, [.path, .noFollow]).readLink().description
    }
  #endif
}
