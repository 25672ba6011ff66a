import FUSE
import LinuxSystem
import Overlay
import SidecarStore

/// What a running mount tells of itself.
struct MountStatus {
  let mountPoint: FileName
  let device: String
  private let fields: [JSON.Member]

  init(of mounting: Mounting, since started: Timestamp) {
    mountPoint = mounting.mountPoint
    device = mounting.device
    let settings = mounting.settings
    var fields: [(String, JSON)] = [
      ("mountpoint", .string(mounting.mountPoint.description)),
      ("source", .string(mounting.sourcePath.description)),
      ("filesystem", .string(mounting.sourceKind)),
      ("identity", .string(mounting.identity.rawValue)),
      ("names", .string(mounting.overlay.names)),
      ("store", .string(mounting.storePath.description)),
      ("engine", .string("sqlite")),
      ("read_only", .bool(settings.isReadOnly)),
      ("cache", .string(settings.cache.rawValue)),
      ("threads", .number(settings.threads)),
      ("features", .array(mounting.session.features.names.map { .string($0) })),
      ("pid", .number(Int(Processes.identifier))),
      ("version", .string(Sidecarfs.version)),
      ("seconds", .number(Int(clamping: Timestamp.now.seconds - started.seconds))),
      ("known_objects", .number(mounting.overlay.knownObjects)),
    ]
    do throws(Errno) {
      let counts = try mounting.counts()
      fields += [
        ("stored_objects", .number(counts.objects)),
        ("stored_attributes", .number(counts.attributes)),
        ("orphans", .number(counts.orphans)),
        ("quarantined", .number(counts.quarantined)),
      ]
    } catch {
      fields.append(("store_error", .string("\(error)")))
    }
    let operations = mounting.session.counters.all.map { counter in
      let counts = [
        JSON.Member(name: "total", value: .number(Int(clamping: counter.total))),
        JSON.Member(name: "failed", value: .number(Int(clamping: counter.failed))),
      ]
      return JSON.Member(name: "\(counter.operation)", value: .object(counts))
    }
    fields.append(("operations", .object(operations)))
    self.fields = fields.map { JSON.Member(name: $0.0, value: $0.1) }
  }

  var json: JSON { .object(fields) }

  /// A line a field, for people.
  var text: String {
    var lines = ["\(mountPoint)"]
    for field in fields where field.name != "mountpoint" {
      let label = field.name.split(separator: "_").joined(separator: " ")
      if case .object(let members) = field.value {
        if !members.isEmpty { lines.append("  \(label)") }
        lines += members.map { "    " + Self.row($0.name, $0.value.plain, width: 18) }
      } else {
        lines.append("  " + Self.row(label, field.value.plain, width: 20))
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func row(_ label: String, _ value: String, width: Int) -> String {
    label + String(repeating: " ", count: max(1, width - label.count)) + value
  }
}
