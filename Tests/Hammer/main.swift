import CLinux
import Glibc

// Hammer ROOT NUMBER SECONDS MANIFEST: changes a tree at random together with others of its kind,
// compares each answer with a model of what it made itself, and leaves a list of what must be there.
// Begins when MANIFEST.go is there, having made MANIFEST.ready.

func complain(_ text: String) {
  _ = text.utf8CString.withUnsafeBytes { write(2, $0.baseAddress, $0.count - 1) }
}

// Hammer locks: takes locks as it is told.

let words = CommandLine.arguments
if words.count == 2, words[1] == "locks" {
  Locker().serve()
  exit(0)
}
guard words.count == 5, let number = Int(words[2]), let seconds = Int(words[3]) else {
  complain("usage: Hammer ROOT NUMBER SECONDS MANIFEST\n")
  exit(2)
}
var worker: Worker?
do {
  let made = try Worker(root: words[1], number: number)
  worker = made
  close(try Calls.open(words[4] + ".ready", O_CREAT | O_WRONLY))
  let deadline = time(nil) + 60
  while access(words[4] + ".go", F_OK) != 0 {
    if time(nil) > deadline { throw Mismatch(text: "nobody said go") }
    usleep(2000)
  }
  let end = time(nil) + seconds
  while time(nil) < end { try made.step() }
  try made.checkAll()
  let lines = Array((try made.manifest().joined(separator: "\n") + "\n").utf8)
  let file = try Calls.open(words[4], O_CREAT | O_WRONLY)
  guard write(file, lines, lines.count) == lines.count else { throw Mismatch(text: "short write") }
  print(made.steps)
} catch {
  let text = (error as? Mismatch)?.text ?? "\(error)"
  complain("worker \(number), step \(worker?.steps ?? 0), \(worker?.doing ?? "start"): \(text)\n")
  exit(1)
}
