import Foundation

/// What a listing links to.
enum Listing {
  /// One entry of a listing.
  struct Entry: Hashable {
    /// The name here, one component of a path.
    let name: String
    /// Where it is.
    let url: URL
    /// Whether it is a listing itself: the link ends in a slash.
    let isDirectory: Bool
  }

  /// The entries directly below the listing's own URL, in the order of the page.
  ///
  /// Links to elsewhere, to the parent, and with a query (a column to sort by) are left out, and so
  /// is every name that would lead out of the directory.
  static func entries(of page: String, at base: URL) -> [Entry] {
    var entries: [Entry] = []
    var names: Set<String> = []
    for link in links(in: page) {
      guard let url = URL(string: link, relativeTo: base)?.absoluteURL, url.query == nil,
        url.fragment == nil, url.scheme == base.scheme, url.host == base.host, url.port == base.port
      else { continue }
      let path = url.path(percentEncoded: true)
      let root = base.path(percentEncoded: true)
      guard path.hasPrefix(root) else { continue }
      var rest = path.dropFirst(root.count)
      let isDirectory = rest.hasSuffix("/")
      if isDirectory { rest = rest.dropLast() }
      guard !rest.isEmpty, !rest.contains("/"), let name = rest.removingPercentEncoding,
        name != ".", name != "..", !name.contains("/"), !name.utf8.contains(0),
        names.insert(name).inserted
      else { continue }
      entries.append(Entry(name: name, url: url, isDirectory: isDirectory))
    }
    return entries
  }

  /// The values of all `href`, with the few entities that belong in a URL resolved.
  private static func links(in page: String) -> [String] {
    var links: [String] = []
    var rest = page[...]
    while let mark = rest.range(of: "href=", options: .caseInsensitive) {
      rest = rest[mark.upperBound...]
      guard let quote = rest.first, quote == "\"" || quote == "'" else { continue }
      rest = rest.dropFirst()
      guard let end = rest.firstIndex(of: quote) else { break }
      links.append(
        rest[..<end].replacingOccurrences(of: "&quot;", with: "\"")
          .replacingOccurrences(of: "&#x27;", with: "'").replacingOccurrences(
            of: "&#39;", with: "'"
          )
          .replacingOccurrences(of: "&amp;", with: "&"))
      rest = rest[end...]
    }
    return links
  }
}
