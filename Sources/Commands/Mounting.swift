import FUSE
import LinuxSystem
import Overlay
import SidecarStore

/// A mount from its parts to its end: source, store, overlay, session.
final class Mounting: Sendable {
  let mountPoint: FileName
  /// The device number of the mount, which tells it from others.
  let device: String
  let sourcePath: FileName
  let storePath: FileName
  let sourceKind: String
  let identity: IdentityKind
  let settings: MountSettings
  let store: SQLiteStore
  private let journaled: JournaledStore
  let overlay: Overlay
  let session: Session

  /// Puts the parts together and mounts; from the moment that `started` is called it can be used,
  /// once ``serve()`` runs.
  init(
    _ sourcePath: FileName, at mountPoint: FileName, _ settings: MountSettings,
    report: @escaping @Sendable (String) -> Void, trace: (@Sendable (String) -> Void)?,
    started: @escaping @Sendable () -> Void
  ) throws(CommandFailure) {
    Processes.raiseOpenFileLimit()
    try settings.checkRing()
    let isRoot = Processes.effectiveUser == 0
    let source = try Self.openSource(sourcePath, settings.identity)
    let location = try Self.location(of: source, settings.store)
    self.sourcePath = sourcePath
    self.mountPoint = mountPoint
    self.settings = settings
    storePath = location.path(in: sourcePath)
    sourceKind = source.fileSystemName
    identity = source.volume.kind
    let before = NewStore.look(at: location, in: source)
    do throws(StoreError) {
      let directory = try location.open(source: source.directory, named: sourcePath)
      let hidden = try Self.status(of: directory, storePath)
      if settings.salvages { try Self.salvage(directory, storePath, report) }
      let journalDirectory = try Self.copy(of: directory, storePath)
      store = try SQLiteStore.open(
        directory, at: storePath, for: mountPoint,
        admission: StoreOwnership.admission(forUser: Processes.effectiveUser))
      let options = Overlay.Options(
        cache: settings.cache, identity: settings.identity, actsAsCaller: isRoot,
        storeName: "\(storePath)/store.db", report: report)
      journaled = try Self.journaled(store, journalDirectory, storePath)
      overlay = try Self.overlay(source, journaled, hidden, options)
      if store.wasLeftOpen { overlay.collectOrphans(of: source) }
    } catch {
      throw CommandFailure(.mount, "store \(error)")
    }
    var options = MountOptions(
      source: sourcePath.description, subtype: "sidecarfs", threads: settings.threads)
    options.allowsOthers = settings.allowsOthers ?? isRoot
    options.isReadOnly = settings.isReadOnly
    options.others = settings.kernelOptions
    options.features = settings.features
    options.demanded = settings.demanded
    options.isSlow = source.isRemote
    options.stackDepth = source.isStacked ? 2 : 1
    // fusermount3 writes its reasons where we write ours.
    let held = StandardError.hold()
    do throws(MountError) {
      session = try Session(
        overlay, options, trace: trace, report: report, started: started)
      try session.mount(at: mountPoint)
      device = Self.device(of: mountPoint)
      try? overlay.isMounted(at: mountPoint)
      held?.release()
    } catch {
      let reasons = (held?.release() ?? "").split(separator: "\n").joined(separator: ", ")
      Self.abandon(store, journaled, before)
      throw CommandFailure(
        .mount, "cannot mount at \(mountPoint): \(reasons.isEmpty ? error.message : reasons)",
        remedy: Self.remedy(isRoot))
    }
  }

  private static func salvage(
    _ directory: borrowing FileDescriptor, _ place: FileName, _ report: (String) -> Void
  ) throws(StoreError) {
    let copy = try copy(of: directory, place)
    do throws(StoreError) {
      let salvage = try StoreSalvage.run(
        copy, at: place, for: FileName("sidecarfs mount --salvage"),
        admission: StoreOwnership.admission(forUser: Processes.effectiveUser))
      for line in salvage?.lines ?? [] { report(line) }
    } catch {
      if error.reason != .missing { throw error }
    }
  }

  private static func copy(
    of directory: borrowing FileDescriptor, _ place: FileName
  ) throws(StoreError) -> FileDescriptor {
    do throws(Errno) { return try directory.duplicate() } catch {
      throw StoreError(.unreachable(error), at: place)
    }
  }

  private static func journaled(
    _ store: SQLiteStore, _ directory: consuming FileDescriptor, _ place: FileName
  ) throws(StoreError) -> JournaledStore {
    do throws(Errno) { return try JournaledStore(store, in: directory) } catch {
      throw StoreError(.unreachable(error), at: place)
    }
  }

  /// Closes a store that nothing will be put into, and takes it away if it is new and empty.
  private static func abandon(
    _ store: SQLiteStore, _ journaled: JournaledStore, _ before: consuming NewStore?
  ) {
    let counts = try? journaled.counts()
    try? journaled.close()
    try? store.close()
    if let counts, counts.objects == 0, counts.quarantined == 0 { before?.remove() }
  }

  private static func device(of mountPoint: FileName) -> String {
    let top = try? Mounts.all().last { $0.mountPoint == mountPoint }
    return top?.device ?? ""
  }

  /// Serves until the mount is gone, then closes everything in good order.
  func serve() throws(CommandFailure) {
    var failure: CommandFailure?
    do throws(Errno) {
      try session.serve()
    } catch {
      failure = CommandFailure(.system, "serving \(mountPoint) failed: \(error)")
    }
    do throws(Errno) {
      try overlay.close()
      try journaled.close()
      try store.close()
    } catch {
      failure =
        failure ?? CommandFailure(.system, "closing the store \(storePath) failed: \(error)")
    }
    if let failure { throw failure }
  }

  /// How much the store holds.
  func counts() throws(Errno) -> StoreCounts { try journaled.counts() }

  /// Ends ``serve()``; for any thread.
  func stop() { session.stop() }

  static func openSource(
    _ path: FileName, _ identity: IdentityChoice
  ) throws(CommandFailure) -> Source {
    do throws(SourceError) {
      let source = try Source(path, identity)
      // An ordinary user's daemon has to get in itself.
      do throws(Errno) { try source.directory.checkAccess(4 | 1) } catch {
        throw .unreachable(error)
      }
      return source
    } catch {
      switch error {
      case .unreachable(let errno):
        throw CommandFailure(
          errno == .accessDenied ? .usage : .mount, "source \(path): \(errno)",
          remedy: errno == .accessDenied
            ? "choose a directory that you may enter" : "name a directory that exists")
      case .unidentifiable(let fileSystem, let reason):
        throw CommandFailure(
          .mount,
          "source \(path) is on \(fileSystem), whose files could not be told apart: \(reason)",
          remedy: "leave the choice to us (identity=auto), or name them by path (identity=path)")
      }
    }
  }

  static func location(
    of source: borrowing Source, _ override: FileName?
  ) throws(CommandFailure) -> StoreLocation {
    let failure: String
    do throws(Errno) {
      let facts = StoreLocation.Source(
        isLocal: !source.isRemote, isWritable: source.isWritable(),
        identity: try source.identity())
      let user = StoreLocation.User(
        uid: Processes.effectiveUser,
        stateHome: Processes.environment("XDG_STATE_HOME").map { FileName($0) },
        home: Processes.environment("HOME").map { FileName($0) })
      do throws(StoreError) {
        return try StoreLocation.choose(override: override, source: facts, user: user)
      } catch {
        failure = "\(error)"
      }
    } catch {
      failure = "\(error)"
    }
    throw CommandFailure(.mount, "no place for the store: \(failure)")
  }

  private static func status(
    of directory: borrowing FileDescriptor, _ path: FileName
  ) throws(StoreError) -> FileStatus {
    do throws(Errno) {
      return try directory.status()
    } catch {
      throw StoreError(.unreachable(error), at: path)
    }
  }

  private static func overlay(
    _ source: borrowing Source, _ store: any EntryStore, _ hidden: FileStatus,
    _ options: Overlay.Options
  ) throws(StoreError) -> Overlay {
    do throws(Errno) {
      let overlay = try Overlay(source, store: store, storeDirectory: hidden, options)
      try overlay.recover()
      return overlay
    } catch {
      throw StoreError(.unreachable(error), at: FileName("source"))
    }
  }

  private static func remedy(_ isRoot: Bool) -> String {
    isRoot
      ? "look whether /dev/fuse is there (modprobe fuse) and mounting is allowed here"
      : "look whether fusermount3 is installed and you may use /dev/fuse; --allow-other needs"
        + " user_allow_other in /etc/fuse.conf"
  }
}
