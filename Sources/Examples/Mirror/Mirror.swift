import ExampleSupport
import ExtendedAttributes
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A directory that is made like one on a server.
final class Mirror {
  /// What is wrong with an answer or a file.
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  private let root: URL
  private let directory: String
  private let deletes: Bool
  private let isQuiet: Bool
  private let bar: ProgressBar
  private var (transferred, unchanged, removed, failed) = (0, 0, 0, 0)
  private static let temporaryPrefix = ".mirror-part-"

  init(of url: URL, in directory: String, deletes: Bool, isQuiet: Bool) {
    let text = url.absoluteString
    // Links are relative to a directory only if its URL ends in a slash.
    root = text.hasSuffix("/") ? url : URL(string: text + "/") ?? url
    self.directory = directory
    self.deletes = deletes
    self.isQuiet = isQuiet
    bar = ProgressBar(isWanted: !isQuiet)
  }

  /// Makes the directory like the listing; says whether everything went well.
  func run() throws -> Bool {
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: true)
    // Before anything is transferred: does this file system remember at all?
    try probe()
    try update(directory, from: root)
    bar.clear()
    if !isQuiet {
      print(
        "\(transferred) transferred, \(unchanged) unchanged, \(removed) removed", terminator: "")
      print(failed > 0 ? ", \(failed) failed" : "")
    }
    return failed == 0
  }

  private func probe() throws {
    let attributes = ExtendedAttributeView(path: directory)
    let key: ExtendedAttributeName = "mirror.probe"
    try attributes.set(Data(), for: key)
    try attributes.remove(key)
  }

  private func update(_ directory: String, from url: URL) throws {
    let entries = try Listing.entries(of: page(at: url), at: url)
    for (index, entry) in entries.enumerated() {
      let path = directory + "/" + entry.name
      do {
        if entry.isDirectory {
          try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
          try update(path, from: entry.url)
        } else {
          try updateFile(path, from: entry.url)
        }
      } catch let error as ExtendedAttributeError where error.kind == .notSupported {
        throw error
      } catch {
        // One file that fails is no reason to leave the others.
        failed += 1
        bar.clear()
        complain("mirror: \(path): \(error)")
      }
      bar.show(directory, Int64(index + 1), of: Int64(entries.count))
    }
    try clean(directory, keeping: Set(entries.map(\.name)))
  }

  private func page(at url: URL) throws -> String {
    var content = Data()
    try Transfer.run(URLRequest(url: url)) { head in
      guard head.status == 200 else {
        throw Problem(description: "\(url.absoluteString): the server says \(head.status)")
      }
      return true
    } piece: { data in
      content += data
      guard content.count < 64 << 20 else {
        throw Problem(description: "\(url.absoluteString): too long for a listing")
      }
    }
    return String(decoding: content, as: UTF8.self)
  }

  private func updateFile(_ path: String, from url: URL) throws {
    var request = URLRequest(url: url)
    let attributes = ExtendedAttributeView(path: path, followingSymlinks: false)
    // A copy that was changed here is fetched again whatever the server says.
    if let now = stamp(of: path), try attributes[.stamp] == now {
      if let tag = try attributes[.tag] {
        request.setValue(tag, forHTTPHeaderField: "If-None-Match")
      }
      if let date = try attributes[.lastModified] {
        request.setValue(date, forHTTPHeaderField: "If-Modified-Since")
      }
    }
    let temporary =
      (path as NSString).deletingLastPathComponent + "/" + Self.temporaryPrefix + "\(getpid())"
    var file: FileHandle?
    var answer: Transfer.Head?
    var length: Int64 = 0
    defer { unlink(temporary) }
    try Transfer.run(request) { head in
      answer = head
      if head.status == 304 { return false }
      guard head.status == 200 else { throw Problem(description: "the server says \(head.status)") }
      file = try create(temporary)
      return true
    } piece: { data in
      try file?.write(contentsOf: data)
      length += Int64(data.count)
      bar.show(path, length, of: answer?["Content-Length"].flatMap { Int64($0) })
    }
    guard let file, let answer else {
      unchanged += 1
      return
    }
    if let expected = answer["Content-Length"].flatMap({ Int64($0) }), expected != length {
      throw Problem(description: "the connection ended at byte \(length) of \(expected)")
    }
    try complete(file, temporary, answer)
    // The name appears with content and attributes complete, or the old copy stays.
    guard rename(temporary, path) == 0 else {
      throw Problem(description: String(cString: strerror(errno)))
    }
    transferred += 1
  }

  private func create(_ path: String) throws -> FileHandle {
    let descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o666)
    guard descriptor >= 0 else { throw Problem(description: String(cString: strerror(errno))) }
    return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
  }

  /// Gives a new copy the time of its original, and notes what it is a copy of.
  private func complete(_ file: FileHandle, _ path: String, _ head: Transfer.Head) throws {
    let attributes = file.extendedAttributes
    try attributes.set(head["ETag"], for: .tag)
    try attributes.set(head["Last-Modified"], for: .lastModified)
    if let date = head["Last-Modified"].flatMap(Self.date) {
      let time = timespec(tv_sec: Int(date.timeIntervalSince1970), tv_nsec: 0)
      guard futimens(file.fileDescriptor, [time, time]) == 0 else {
        throw Problem(description: String(cString: strerror(errno)))
      }
    }
    try attributes.set(stamp(of: path), for: .stamp)
    try file.synchronize()
  }

  private static func date(_ text: String) -> Date? {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "GMT")
    formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
    return formatter.date(from: text)
  }

  private func stamp(of path: String) -> Stamp? {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    return Stamp(
      bytes: Int64(status.st_size), seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
  }

  /// Takes away what earlier runs left half done and, if wanted, copies whose original is gone.
  private func clean(_ directory: String, keeping names: Set<String>) throws {
    for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
      let path = directory + "/" + name
      if name.hasPrefix(Self.temporaryPrefix) {
        unlink(path)
      } else if deletes, !names.contains(name) {
        try remove(path)
      }
    }
  }

  /// Removes a copy, or a directory once its copies are gone; never what was not mirrored.
  private func remove(_ path: String) throws {
    let attributes = ExtendedAttributeView(path: path, followingSymlinks: false)
    if stamp(of: path) != nil {
      guard try attributes.contains(ExtendedAttributeKey<Stamp>.stamp) else { return }
      if unlink(path) == 0 { removed += 1 }
    } else if let names = try? FileManager.default.contentsOfDirectory(atPath: path),
      try FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
        == .typeDirectory
    {
      for name in names { try remove(path + "/" + name) }
      rmdir(path)
    }
  }
}
