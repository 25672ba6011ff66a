import Glibc
import SpeedFigures

// Times operations on directories, in turn, and checks every result: see `Options.usage`.

/// Prints the figures as a table, and writes what else was asked for.
func report(_ figures: [Figure], _ options: Options, directories: [String]) throws(Trouble) {
  put(Table(figures, directories: directories).text, to: 1)
  if let path = options.tsv { try save(TabSeparated.text(figures), path) }
  if let path = options.svg, let clients = figures.map({ $0.clients }).min() {
    try save(Chart(figures, directories: directories, clients: clients).svg, path)
  }
}

func save(_ text: String, _ path: String) throws(Trouble) {
  let file = try done(open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o644), "open \(path)")
  defer { close(file) }
  guard put(text, to: file) else { throw Trouble(call: "write \(path)") }
}

/// Figures that another run has saved, with the names of their directories in order.
func saved(_ path: String) throws(Trouble) -> ([Figure], [String]) {
  let file = try done(open(path, O_RDONLY | O_CLOEXEC), "open \(path)")
  defer { close(file) }
  let memory = Memory(1 << 16)
  var bytes: [UInt8] = []
  while true {
    let count = try done(read(file, memory.bytes, memory.count), "read \(path)")
    if count == 0 { break }
    bytes += UnsafeRawBufferPointer(start: memory.bytes, count: count)
  }
  do {
    let figures = try TabSeparated.figures(String(decoding: bytes, as: UTF8.self))
    var names: [String] = []
    for figure in figures where !names.contains(figure.directory) { names.append(figure.directory) }
    return (figures, names)
  } catch {
    throw Trouble(wrong: "\(path), line \(error.line): \(error.reason)")
  }
}

func measure(_ options: Options) throws(Trouble) {
  Interruption.expect()
  var places: [Place] = []
  defer { for place in places { place.clear() } }
  for (number, directory) in options.directories.enumerated() {
    places.append(try Place(name: directory.name, path: directory.path, number: number))
  }
  #if DEBUG
    complain("a debug build: these numbers mean nothing\n")
  #endif
  var measurement = Measurement(options, places)
  try measurement.run()
  let names = places.map { $0.name }
  try report(measurement.figures, options, directories: names)
  let processors = usableProcessors().map { "\($0)" }.joined(separator: ", ")
  put("\n\(options.repetitions) rounds; clients on processors \(processors) in turn\n", to: 1)
  for control in measurement.controls { put(control.text, to: 1) }
  for omission in measurement.omissions {
    complain("left out: \(omission.reason): \(omission.operations.joined(separator: "; "))\n")
  }
}

let words = Array(CommandLine.arguments.dropFirst())
if words == ["--help"] || words == ["--list"] {
  put(words == ["--help"] ? Options.usage : Operation.all.map { "\($0.name)\n" }.joined(), to: 1)
  exit(0)
}
do {
  let options = try Options(words)
  if let path = options.from {
    let (figures, names) = try saved(path)
    try report(figures, options, directories: names)
  } else {
    try measure(options)
  }
} catch let misuse as Misuse {
  complain("mount-speed: \(misuse.text)\n\n\(Options.usage)")
  exit(2)
} catch {
  complain("mount-speed: \((error as? Trouble)?.text ?? "\(error)")\n")
  exit(1)
}
