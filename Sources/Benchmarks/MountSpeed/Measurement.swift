import SpeedFigures

/// Measures operations in directories that take turns.
struct Measurement {
  let options: Options
  let places: [Place]
  private(set) var figures: [Figure] = []
  private(set) var controls: [Control] = []
  /// What was left out, and why.
  private(set) var omissions: [String] = []
  private var progress: Progress

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
        omissions.append("\(place.name): \(title): \(error.text)")
        progress.advance()
      }
    }
    var times = works.map { _ in [Double]() }
    let rounds = options.repetitions + 1
    for round in 0..<rounds {
      for (index, (place, work)) in works.enumerated() {
        progress.show(title)
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
