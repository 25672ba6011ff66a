package import Foundation

#if canImport(FoundationNetworking)
  package import FoundationNetworking
#endif

/// One HTTP request whose answer is handed over piece by piece, on the calling thread.
///
/// The pieces come from the session's own thread and are queued here. Foundation on Linux sets no
/// bound to what it has received and not delivered, so the queue does: when it is full, the
/// session's thread waits, the socket fills, and the server waits too.
package final class Transfer: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  /// What the server says before the content.
  package struct Head: Sendable {
    /// The status, 200 for example.
    package let status: Int
    private let fields: [String: String]

    init(_ response: HTTPURLResponse) {
      status = response.statusCode
      var fields: [String: String] = [:]
      for (name, value) in response.allHeaderFields {
        if let name = name as? String, let value = value as? String {
          fields[name.lowercased()] = value
        }
      }
      self.fields = fields
    }

    /// The value of a field, whatever the case of its name.
    package subscript(_ name: String) -> String? { fields[name.lowercased()] }
  }

  private enum Event {
    case head(Head)
    case piece(Data)
    case end((any Error)?)
  }

  private let condition = NSCondition()
  private var events: [Event] = []
  /// Calls of the session that are not yet events.
  private var pending = 0
  private var isOver = false
  /// Pieces have 16 KiB at most, so this is 4 MiB.
  private static let limit = 256

  /// The queue on which the session makes its calls; adding to it may wait.
  private final class BoundedQueue: OperationQueue, @unchecked Sendable {
    weak var transfer: Transfer?

    override func addOperation(_ block: @escaping @Sendable () -> Void) {
      let transfer = transfer
      transfer?.enter()
      super.addOperation {
        block()
        transfer?.leave()
      }
    }
  }

  /// What went wrong with a request.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Makes a request and hands over the answer.
  ///
  /// - Parameters:
  ///   - request: The request. Content is asked for as it is, not compressed: a part of a
  ///     compressed file could not be continued.
  ///   - timeout: How long the server may be silent, in seconds.
  ///   - head: Gets the status and the fields, and says whether the content is wanted.
  ///   - piece: Gets the content piece by piece.
  /// - Throws: ``Failure``, or what `head` and `piece` throw; the request is cancelled then.
  package static func run(
    _ request: URLRequest, timeout: TimeInterval = 30, head: (Head) throws -> Bool,
    piece: (Data) throws -> Void
  ) throws {
    let transfer = Transfer()
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = timeout
    configuration.urlCache = nil
    let queue = BoundedQueue()
    queue.transfer = transfer
    queue.maxConcurrentOperationCount = 1
    let session = URLSession(configuration: configuration, delegate: transfer, delegateQueue: queue)
    defer {
      // First, for the session ends on the thread that may be waiting.
      transfer.finish()
      session.invalidateAndCancel()
    }
    var request = request
    request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
    let task = session.dataTask(with: request)
    task.resume()
    while true {
      switch transfer.next() {
      case .head(let answer):
        guard try head(answer) else { return }
      case .piece(let data):
        try piece(data)
      case .end(nil):
        return
      case .end(let error?):
        let url = request.url?.absoluteString ?? "?"
        throw Failure(description: "\(url): \(error.localizedDescription)")
      }
    }
  }

  private func next() -> Event {
    condition.lock()
    defer { condition.unlock() }
    while events.isEmpty { condition.wait() }
    condition.broadcast()
    return events.removeFirst()
  }

  private func add(_ event: Event) {
    condition.lock()
    defer { condition.unlock() }
    events.append(event)
    condition.broadcast()
  }

  private func enter() {
    condition.lock()
    defer { condition.unlock() }
    while !isOver, events.count + pending >= Self.limit { condition.wait() }
    pending += 1
  }

  private func leave() {
    condition.lock()
    defer { condition.unlock() }
    pending -= 1
    condition.broadcast()
  }

  private func finish() {
    condition.lock()
    defer { condition.unlock() }
    isOver = true
    condition.broadcast()
  }

  package func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
  ) {
    guard let response = response as? HTTPURLResponse else {
      add(.end(Failure(description: "the answer is not HTTP")))
      completionHandler(.cancel)
      return
    }
    add(.head(Head(response)))
    completionHandler(.allow)
  }

  package func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data
  ) {
    add(.piece(data))
  }

  package func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    add(.end(error))
  }
}
