import CSQLite
import Glibc
import LinuxSystem
import SQLite

@testable import SidecarStore

/// What SQLite asked of the disk, in order, for the files below one directory.
enum DiskRequest: Sendable {
  case create(String)
  case write(String, at: Int, [UInt8])
  case cut(String, to: Int)
  /// What was written to the file before is on the disk; for a log or journal, and the first time,
  /// also the names in the directory.
  case sync(String)
  case delete(String)
  /// The same without names: fdatasync of one of our files.
  case syncContent(String)
  /// The names in the directory are on the disk.
  case syncNames
}

extension DiskRequest {
  init(_ request: JournalRequest) {
    switch request {
    case .create(let name): self = .create(name)
    case .write(let name, let position, let bytes): self = .write(name, at: position, bytes)
    case .sync(let name): self = .syncContent(name)
    case .syncNames: self = .syncNames
    case .delete(let name): self = .delete(name)
    }
  }
}

/// Takes down the requests of every connection to a directory's files, between `begin` and `end`.
///
/// A layer of SQLite's kind: each file of the Unix layer is wrapped in one that passes everything on.
enum DiskRecorder {
  private struct State {
    var directory: String?
    var requests: [DiskRequest] = []
    var names: [String] = []
  }

  private static let state = Lock(State())
  private static let isInstalled: Bool = install()

  /// Starts recording what happens to the files of a store's directory.
  static func begin(_ directory: String) -> Bool {
    state.withLock { $0 = State(directory: directory) }
    #if DEBUG
      JournalRequest.watcher.withLock { watcher in
        watcher = { request, path in if path == directory { record(DiskRequest(request)) } }
      }
    #endif
    return isInstalled
  }

  /// What was recorded so far.
  static var count: Int { state.withLock { $0.requests.count } }

  static func end() -> [DiskRequest] {
    #if DEBUG
      JournalRequest.watcher.withLock { $0 = nil }
    #endif
    return state.withLock { state in
      state.directory = nil
      return state.requests
    }
  }

  fileprivate static func record(_ request: @autoclosure () -> DiskRequest) {
    state.withLock { state in
      guard state.directory != nil else { return }
      state.requests.append(request())
    }
  }

  /// Whether a path, which leads through a descriptor of the process, is in the directory.
  fileprivate static func name(of path: UnsafePointer<CChar>?) -> String? {
    guard let path, let directory = state.withLock({ $0.directory }) else { return nil }
    let text = String(cString: path)
    guard let slash = text.lastIndex(of: "/"), let real = realpath(String(text[..<slash]), nil)
    else { return nil }
    defer { free(real) }
    return String(cString: real) == directory ? String(text[text.index(after: slash)...]) : nil
  }

  fileprivate static func number(_ name: String) -> Int {
    state.withLock { state in
      state.names.append(name)
      return state.names.count - 1
    }
  }

  fileprivate static func name(_ number: Int) -> String {
    state.withLock { state in
      state.names.indices.contains(number) ? state.names[number] : "?"
    }
  }

  /// Changes the layer that `Database` uses in place: in a debug build there is room for what stands
  /// before the original.
  private static func install() -> Bool {
    // The layer is registered by the first database.
    guard (try? Database.inMemory()) != nil, let layer = sqlite3_vfs_find("unix-literal-path"),
      let original = sqlite3_vfs_find("unix")
    else { return false }
    wrapperMethods.initialize(to: makeMethods())
    guard layer.pointee.szOsFile >= original.pointee.szOsFile + Int32(wrapperSize) else {
      return false
    }
    layerOpen = layer.pointee.xOpen
    layer.pointee.xOpen = { layer, path, file, flags, outFlags in
      guard let open = layerOpen, let file else { return SQLITE_CANTOPEN }
      let name = DiskRecorder.name(of: path)
      // A file that is made is a request of its own.
      let isNew = name != nil && path.map { access($0, F_OK) != 0 } ?? false
      let result = open(layer, path, wrapped(file), flags, outFlags)
      let wrapper = UnsafeMutableRawPointer(file).assumingMemoryBound(to: Wrapper.self)
      wrapper.initialize(to: Wrapper(methods: nil, number: -1))
      guard wrapped(file).pointee.pMethods != nil else { return result }
      wrapper.pointee.methods = UnsafePointer(wrapperMethods)
      guard result == SQLITE_OK, let name else { return result }
      wrapper.pointee.number = DiskRecorder.number(name)
      if isNew { DiskRecorder.record(.create(name)) }
      return result
    }
    layer.pointee.xDelete = { layer, path, syncs in
      guard let original = sqlite3_vfs_find("unix") else { return SQLITE_IOERR }
      let name = DiskRecorder.name(of: path)
      let result = original.pointee.xDelete(layer, path, syncs)
      if result == SQLITE_OK, let name { DiskRecorder.record(.delete(name)) }
      return result
    }
    return true
  }
}

/// Stands before the original file in SQLite's memory; the first field is what SQLite knows.
private struct Wrapper {
  var methods: UnsafePointer<sqlite3_io_methods>?
  var number: Int
}

private let wrapperSize = 16
/// What opened a file before it was wrapped.
nonisolated(unsafe) private var layerOpen:
  (
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?,
      UnsafeMutablePointer<sqlite3_file>?, Int32, UnsafeMutablePointer<Int32>?
    ) -> Int32
  )?
nonisolated(unsafe) private let wrapperMethods =
  UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)

private typealias File = UnsafeMutablePointer<sqlite3_file>

private func wrapped(_ file: File?) -> File {
  guard let file else { fatalError("SQLite speaks of no file") }
  return (UnsafeMutableRawPointer(file) + wrapperSize).assumingMemoryBound(to: sqlite3_file.self)
}

private func name(_ file: File?) -> String? {
  guard let file else { return nil }
  let number = UnsafeRawPointer(file).assumingMemoryBound(to: Wrapper.self).pointee.number
  return number < 0 ? nil : DiskRecorder.name(number)
}

private func original(_ file: File?) -> sqlite3_io_methods {
  wrapped(file).pointee.pMethods.pointee
}

private func makeMethods() -> sqlite3_io_methods {
  var methods = sqlite3_io_methods()
  methods.iVersion = 3
  methods.xClose = { file in original(file).xClose(wrapped(file)) }
  methods.xRead = { file, bytes, count, offset in
    original(file).xRead(wrapped(file), bytes, count, offset)
  }
  methods.xWrite = { file, bytes, count, offset in
    let result = original(file).xWrite(wrapped(file), bytes, count, offset)
    if result == SQLITE_OK, let name = name(file) {
      var data = Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
      // The layer has put a checksum into the page.
      if name.hasSuffix(".db") {
        _ = original(file).xRead(wrapped(file), &data, count, offset)
      }
      DiskRecorder.record(.write(name, at: Int(offset), data))
    }
    return result
  }
  methods.xTruncate = { file, size in
    let result = original(file).xTruncate(wrapped(file), size)
    if result == SQLITE_OK, let name = name(file) {
      DiskRecorder.record(.cut(name, to: Int(size)))
    }
    return result
  }
  methods.xSync = { file, flags in
    let result = original(file).xSync(wrapped(file), flags)
    if result == SQLITE_OK, let name = name(file) { DiskRecorder.record(.sync(name)) }
    return result
  }
  methods.xFileSize = { original($0).xFileSize(wrapped($0), $1) }
  methods.xLock = { original($0).xLock(wrapped($0), $1) }
  methods.xUnlock = { original($0).xUnlock(wrapped($0), $1) }
  methods.xCheckReservedLock = { original($0).xCheckReservedLock(wrapped($0), $1) }
  methods.xFileControl = { original($0).xFileControl(wrapped($0), $1, $2) }
  methods.xSectorSize = { original($0).xSectorSize(wrapped($0)) }
  // No promise beyond what any disk keeps: SQLite then relies on none.
  methods.xDeviceCharacteristics = { _ in 0 }
  methods.xShmMap = { original($0).xShmMap(wrapped($0), $1, $2, $3, $4) }
  methods.xShmLock = { original($0).xShmLock(wrapped($0), $1, $2, $3) }
  methods.xShmBarrier = { original($0).xShmBarrier(wrapped($0)) }
  methods.xShmUnmap = { original($0).xShmUnmap(wrapped($0), $1) }
  methods.xFetch = { original($0).xFetch(wrapped($0), $1, $2, $3) }
  methods.xUnfetch = { original($0).xUnfetch(wrapped($0), $1, $2) }
  return methods
}
