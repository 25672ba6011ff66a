import LinuxSystem
import SidecarStore

/// Saving what can be read of a damaged store.
enum Salvaging {
  /// Salvages a store if it is damaged, and tells what came of it.
  static func run(_ target: borrowing StoreTarget, _ output: Output) throws(CommandFailure) {
    let report = try target.open { (directory, place, admission) throws(StoreError) in
      try StoreSalvage.run(
        directory, at: place, for: FileName("sidecarfs check"), admission: admission)
    }
    if let report { for line in report.lines { output.complain("sidecarfs: \(line)") } }
  }
}
