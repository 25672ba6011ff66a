import Glibc
import SpeedFigures

/// What the command line asks for.
struct Options {
  var repetitions = 25
  var clients = [1]
  var globs: [String] = []
  var reference: String?
  /// No more calls of a client in a round, and files in a directory, than this.
  var calls = Int.max
  var tsv: String?
  var svg: String?
  /// Figures of another run, instead of measuring.
  var from: String?
  var directories: [(name: String, path: String)] = []

  static let usage = """
    usage: mount-speed [OPTIONS] NAME=DIRECTORY...
           mount-speed --from FILE [--svg FILE]

    Times operations on the directories in turn, in another order each round, checks every result,
    and prints how many times as fast as a reference each directory is: the median of the ratios of
    each round. Everything is warm: a round before the first is not counted. Each client is a
    thread on a processor of its own, as far as there are enough.

    A directory where no files can be made but that has a file called "file" (floor-server's) takes
    part in what needs nothing else. An operation that a directory cannot do is left out there.
    NAME-again is the same as NAME once more: how they differ is noise, and is printed.

    options:
      --repetitions N     rounds that count (default: 25)
      --clients LIST      numbers of clients, with commas (default: 1)
      --operations GLOB   only operations with such names (may be repeated)
      --reference NAME    what to compare with (default: a directory called floor... for calls on
                          attributes, one called native... for others, else the first that can)
      --calls N           at most so many calls a round and files in a directory
      --tsv FILE          write the figures there, too
      --svg FILE          draw the ratios there, with the smallest number of clients
      --from FILE         take the figures from what --tsv has written, and measure nothing
      --list              print the names of the operations

    exit status: 0 all results were right, 1 one was wrong or something failed, 2 usage

    """

  /// Takes a command line apart; throws what is wrong with it.
  init(_ words: [String]) throws(Misuse) {
    var rest = words[...]
    while let word = rest.popFirst() {
      guard word.hasPrefix("--") else {
        try add(directory: word)
        continue
      }
      guard let value = rest.popFirst() else { throw Misuse("\(word) needs a value") }
      switch word {
      case "--repetitions": repetitions = try Self.number(value)
      case "--clients":
        clients = []
        for item in value.split(separator: ",", omittingEmptySubsequences: false) {
          clients.append(try Self.number(String(item)))
        }
      case "--operations": globs.append(value)
      case "--reference": reference = value
      case "--calls": calls = try Self.number(value)
      case "--tsv": tsv = value
      case "--svg": svg = value
      case "--from": from = value
      default: throw Misuse("unknown option \(word)")
      }
    }
    if (from == nil) == directories.isEmpty {
      throw Misuse(from == nil ? "no directory" : "--from measures no directories")
    }
    if let reference, from == nil, !directories.contains(where: { $0.name == reference }) {
      throw Misuse("no directory is called \(reference)")
    }
    if operations.isEmpty { throw Misuse("no operation is called so: see --list") }
  }

  /// The operations that were asked for.
  var operations: [Operation] {
    if globs.isEmpty { return Operation.all }
    return Operation.all.filter { operation in
      globs.contains { fnmatch($0, operation.name, 0) == 0 }
    }
  }

  private mutating func add(directory word: String) throws(Misuse) {
    guard let sign = word.firstIndex(of: "="), sign > word.startIndex else {
      throw Misuse("\(word) is not NAME=DIRECTORY")
    }
    let (name, path) = (String(word[..<sign]), String(word[word.index(after: sign)...]))
    guard !directories.contains(where: { $0.name == name }), !name.contains("\t"),
      !name.contains("\n")
    else { throw Misuse("\(name): a name is for one directory, and on one line") }
    directories.append((name, path))
  }

  private static func number(_ word: String) throws(Misuse) -> Int {
    guard let number = Int(word), 1...1_000_000 ~= number else {
      throw Misuse("\(word) is not a number from 1")
    }
    return number
  }
}

/// A command line that makes no sense.
struct Misuse: Error {
  let text: String
  init(_ text: String) { self.text = text }
}
