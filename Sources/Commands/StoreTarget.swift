import LinuxSystem
import Overlay
import SidecarStore

/// What a tool works on: a source and its store, or a store alone.
struct StoreTarget: ~Copyable {
  /// As it was named.
  let path: FileName
  /// The source; nil when a store was named whose source nobody knows.
  let source: Source?
  let location: StoreLocation
  let storePath: FileName
  let identity: IdentityChoice

  static let options = [
    Option(
      name: "store", value: "DIRECTORY",
      help: "where the attributes are, if not where mount would look"),
    Option(
      name: "identity", value: "KIND",
      help: "how files are known again: auto, handle or inode (default: auto)"),
  ]

  /// Finds source and store from a command line.
  static func find(
    _ path: FileName, _ arguments: ParsedArguments
  ) throws(CommandFailure) -> StoreTarget {
    var settings = MountSettings()
    for (option, value) in arguments.options where options.contains(where: { $0.name == option }) {
      _ = try settings.take(option, value)
    }
    if settings.store == nil, isStore(path) {
      let store = try MountCommand.absolute(path, "store")
      return StoreTarget(
        path: path, source: try source(above: store, settings.identity), location: .path(store),
        storePath: store, identity: settings.identity)
    }
    let uncovered = try uncovered(path)
    let source = try Mounting.openSource(uncovered, settings.identity)
    let location = try Mounting.location(of: source, settings.store)
    return StoreTarget(
      path: path, source: source, location: location, storePath: location.path(in: uncovered),
      identity: settings.identity)
  }

  /// The source that a store is in; nil when the store is elsewhere.
  private static func source(
    above store: FileName, _ identity: IdentityChoice
  ) throws(CommandFailure) -> Source? {
    let slash = store.bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0
    guard store.bytes[(slash + 1)...] == Array(StoreLocation.directoryName.utf8)[...],
      let parent = try? FileName(slash == 0 ? [UInt8(ascii: "/")] : store.bytes[..<slash])
    else { return nil }
    return try Mounting.openSource(parent, identity)
  }

  private static func isStore(_ path: FileName) -> Bool {
    (try? FileDescriptor.open(path.appending(FileName("store.db")), .path)) != nil
  }

  /// The source that a mount of ours shows when that is what was named. Where the mount covers its
  /// own source, this process takes it away for itself alone.
  private static func uncovered(_ path: FileName) throws(CommandFailure) -> FileName {
    let resolved = MountPoint.canonical(path)
    guard let mount = try MountPoint.mounted(at: resolved) else { return path }
    if mount.source != resolved { return mount.source }
    do throws(Errno) {
      guard Processes.effectiveUser == 0 else { throw Errno.notPermitted }
      try Mounts.makePrivate()
      try Mounts.unmount(resolved, lazily: true)
    } catch {
      throw CommandFailure(
        .system, "\(path) is covered by the mount of itself: \(error)",
        remedy: "unmount it first with sidecarfs unmount \(path)")
    }
    return resolved
  }

  /// Opens the store to read it, mounted or not.
  func reading(for command: String) throws(CommandFailure) -> StoreFile {
    try open { (directory, place, admission) throws(StoreError) in
      try StoreFile.reading(
        directory, at: place, for: FileName("sidecarfs \(command)"), admission: admission)
    }
  }

  /// Opens the store to change it; refused while it is mounted.
  func changing(
    for command: String, makes: Bool = false, insteadOfMounted remedy: String? = nil
  ) throws(CommandFailure) -> StoreFile {
    try open(makes: makes, insteadOfMounted: remedy) {
      (directory, place, admission) throws(StoreError) in
      try StoreFile.changing(
        directory, at: place, for: FileName("sidecarfs \(command)"), admission: admission,
        makes: makes)
    }
  }

  /// Calls `body` with the store's directory.
  func open<Result>(
    makes: Bool = false, insteadOfMounted remedy: String? = nil,
    _ body: (consuming FileDescriptor, FileName, StoreAdmission) throws(StoreError) -> Result
  ) throws(CommandFailure) -> Result {
    do throws(StoreError) {
      let admission = StoreOwnership.admission(forUser: Processes.effectiveUser)
      return try body(try directory(makes: makes), storePath, admission)
    } catch {
      if case .inUse(let holder) = error.reason, let remedy {
        throw CommandFailure(
          .system, "store \(storePath): it is in use by \(holder)", remedy: remedy)
      }
      throw CommandFailure(.system, "store \(error)")
    }
  }

  private func directory(makes: Bool) throws(StoreError) -> FileDescriptor {
    switch location {
    case .inSource:
      switch source {
      case .some(let source):
        if !makes
          && (try? source.directory.status(of: FileName(StoreLocation.directoryName))) == nil
        {
          throw StoreError(.missing, at: storePath)
        }
        return try location.open(source: source.directory, named: path)
      case .none: throw StoreError(.missing, at: storePath)
      }
    case .path(let path):
      do throws(Errno) {
        return try FileDescriptor.open(path, [.path, .directory])
      } catch {
        if makes && error == .noEntry {
          switch source {
          case .some(let source): return try location.open(source: source.directory, named: path)
          case .none: break
          }
        }
        throw StoreError(error == .noEntry ? .missing : .unreachable(error), at: path)
      }
    }
  }

  /// The one operand of a command line.
  static func operand(
    of arguments: ParsedArguments, _ command: String, usage: String
  ) throws(CommandFailure) -> FileName {
    let operands = arguments.operands + (arguments.rest ?? [])
    guard operands.count == 1 else {
      throw CommandFailure(
        .usage, "\(command): one directory is needed", remedy: "usage: \(usage)")
    }
    return operands[0]
  }
}

extension CommandFailure {
  /// What a store said.
  init(_ error: StoreError) { self.init(.system, "store \(error)") }
}

/// Runs `body`; what a store says becomes the command's failure.
func asking<Result: ~Copyable>(
  _ body: () throws(StoreError) -> Result
) throws(CommandFailure) -> Result {
  do throws(StoreError) { return try body() } catch { throw CommandFailure(error) }
}
