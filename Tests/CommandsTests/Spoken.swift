import LinuxSystem

@testable import Commands

/// What a command said and returned, called in this process.
struct Spoken {
  let status: Int32
  let output: String
  let complaints: [String]

  /// Calls a command that neither mounts nor starts a process.
  init(_ words: [String]) {
    let written = Lock("")
    let lines = Lock<[String]>([])
    status = Sidecarfs.run(
      words.map { FileName($0) },
      Output(
        write: { text in written.withLock { $0 += text } },
        complain: { line in lines.withLock { $0.append(line) } }))
    output = written.withLock { $0 }
    complaints = lines.withLock { $0 }
  }
}
