import SpeedFigures

/// Measures operations in directories that take turns, each once in a round.
struct Measurement {
  let options: Options
  let places: [Place]
  private(set) var figures: [Figure] = []
  private(set) var controls: [Control] = []
  /// What was left out, and why: a line for each reason.
  private(set) var omissions: [(reason: String, operations: [String])] = []
  private var progress: Progress
  /// Each round has another order, the same in each run: what comes before has a say.
  private var order = Order()

  /// Nothing measured yet.
  init(_ options: Options, _ places: [Place]) {
    self.options = options
    self.places = places
    for place in places where places.contains(where: { $0.name == place.name + Control.suffix }) {
      controls.append(Control(directory: place.name, ratios: []))
    }
    progress = Progress(steps: options.operations.count * options.clients.count * places.count)
  }

  /// Measures all that was asked for.
  mutating func run() throws(Trouble) {
    defer { progress.end() }
    for operation in options.operations {
      for clients in options.clients { try measure(operation, clients) }
    }
  }

  private mutating func measure(_ operation: Operation, _ clients: Int) throws(Trouble) {
    let title = operation.name + (clients == 1 ? "" : ", \(clients) clients")
    let processors = usableProcessors()
    let calls = min(operation.calls, options.calls)
    var works: [(place: Place, work: Work)] = []
    for place in places {
      progress.show("\(title): preparing \(place.name)")
      do {
        works.append((place, try operation.prepare(place, clients, calls)))
      } catch {
        guard error.isLack else { throw Trouble(error, in: "\(place.name): \(title)") }
        omit(operation, "\(place.name): \(error.text)")
        progress.advance()
      }
    }
    var times = works.map { _ in [Double]() }
    let rounds = options.repetitions + 1
    for round in 0..<rounds {
      for index in works.indices.shuffled(using: &order) {
        let (place, work) = works[index]
        progress.show(title)
        try Interruption.check()
        do {
          let time = try withClients(clients, on: processors) { (client) throws(Trouble) in
            try work.round(client, round)
          }
          // The first round warms up whatever remembers something.
          if round > 0 { times[index].append(time / Double(work.count) / 1000) }
        } catch {
          throw Trouble(error, in: "\(place.name): \(title)")
        }
        progress.advance(by: 1 / Double(rounds))
      }
    }
    for (place, work) in works {
      do { try work.finish() } catch { throw Trouble(error, in: "\(place.name): \(title)") }
    }
    note(operation, clients, works.map { $0.place.name }, times)
  }

  private mutating func omit(_ operation: Operation, _ reason: String) {
    let index = omissions.firstIndex { $0.reason == reason }
    if let index, !omissions[index].operations.contains(operation.name) {
      omissions[index].operations.append(operation.name)
    } else if index == nil {
      omissions.append((reason, [operation.name]))
    }
  }

  private mutating func note(
    _ operation: Operation, _ clients: Int, _ names: [String], _ times: [[Double]]
  ) {
    let wanted = operation.kind == .attribute ? ["floor", "native"] : ["native"]
    let reference =
      names.firstIndex { $0 == options.reference }
      ?? wanted.compactMap { word in names.firstIndex { $0.hasPrefix(word) } }.first ?? 0
    for (name, own) in zip(names, times) {
      guard let ratio = Ratio(reference: times[reference], this: own),
        let microseconds = median(own)
      else { continue }
      figures.append(
        Figure(
          operation: operation.name, clients: clients, directory: name,
          reference: names[reference], ratio: ratio, microseconds: microseconds,
          repetitions: own.count))
    }
    for (index, control) in controls.enumerated() {
      guard let first = names.firstIndex(of: control.directory),
        let again = names.firstIndex(of: control.directory + Control.suffix),
        let ratio = Ratio(reference: times[first], this: times[again])
      else { continue }
      let what = operation.name + (clients == 1 ? "" : " x\(clients)")
      controls[index] = Control(
        directory: control.directory, ratios: control.ratios + [(what, ratio.median)])
    }
  }
}

extension Trouble {
  /// The same, with where it happened before it.
  init(_ trouble: Trouble, in place: String) {
    self.init(text: "\(place): \(trouble.text)", errno: trouble.errno)
  }
}

/// Numbers that look random (splitmix64).
private struct Order: RandomNumberGenerator {
  private var state: UInt64 = 1

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var number = state
    number = (number ^ (number >> 30)) &* 0xbf58_476d_1ce4_e5b9
    number = (number ^ (number >> 27)) &* 0x94d0_49bb_1331_11eb
    return number ^ (number >> 31)
  }
}
