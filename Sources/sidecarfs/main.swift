import Commands
import LinuxSystem

// A parent may have closed the standard streams or left signals blocked.
Processes.fillStandardStreams()
Signals.takeOver()
let output = Output(
  write: { text in try? FileDescriptor.standardOutput().write(text.utf8) },
  complain: { line in try? FileDescriptor.standardError().write("\(line)\n".utf8) })
Processes.exit(Sidecarfs.run(Processes.arguments(), output))
