import ClientTestSupport
import ExtendedAttributes
import Foundation
import TestSupport
import Testing

struct Film: Codable, Equatable, Sendable {
  var title: String
  var year: Int
  var seen: [Date]
  var poster: Data
  var rating: Double?
}

enum Mood: String, Codable, Sendable { case calm, wild }

/// Typed values, between this library, Python and getfattr.
@Suite(.needsFuse, .needsLoop, .timeLimit(.minutes(2))) struct TypedValueTests {
  static let film = Film(
    title: "Ségolène 🎬", year: 1968, seen: [Date(timeIntervalSince1970: 86_400)],
    poster: Data([0, 1, 255]), rating: nil)

  @Test(arguments: PlaceKind.allCases)
  func codableValuesComeBack(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let attributes = try place.file().extendedAttributes
    func roundTrip<Value: Codable & Equatable & Sendable>(_ value: Value) throws {
      try attributes.set(value: value, for: "v")
      #expect(try attributes.value(Value.self, for: "v") == value)
      try attributes.set(value: value, for: "v", as: .json)
      #expect(try attributes.value(for: "v", as: .json) == value)
    }
    try roundTrip(Self.film)
    try roundTrip([Self.film, Self.film])
    try roundTrip(["a": 1, "b": 2])
    try roundTrip("text é")
    try roundTrip("")
    try roundTrip("$null")
    try roundTrip(Int.min)
    try roundTrip(UInt64.max)
    try roundTrip(true)
    try roundTrip(1.5)
    try roundTrip(Date(timeIntervalSince1970: 1_700_000_000.25))
    try roundTrip(Data([1, 2, 3]))
    try roundTrip(Mood.wild)
    try roundTrip(URL(string: "https://example.com/a?b=c")!)
    try roundTrip(UUID())
    try roundTrip(Optional(5))
    #expect(try attributes.value(Film.self, for: "missing") == nil)
    let error = failure { try attributes.set(value: Int?.none, for: "v") }
    #expect(error?.kind == .invalidValue)
  }

  @Test func textCodingsComeBackAndRefuseWhatDoesNotFit() throws {
    let place = try Place(.tmpfs)
    let attributes = try place.file().extendedAttributes
    let date = Date(timeIntervalSince1970: 1_700_000_000.25)
    let url = URL(string: "https://example.com/%C3%A9")!
    try attributes.set(value: Int64.min, for: "n", as: .decimal)
    try attributes.set(value: date, for: "d", as: .iso8601)
    try attributes.set(value: url, for: "u", as: .text)
    try attributes.set(value: "text", for: "t", as: .text)
    try attributes.set(value: Data([255]), for: "b", as: .data)
    #expect(try attributes.string(for: "n") == "-9223372036854775808")
    #expect(try attributes.value(Int64.self, for: "n", as: .decimal) == .min)
    #expect(try attributes.string(for: "d") == "2023-11-14T22:13:20.250Z")
    #expect(try attributes.value(for: "d", as: .iso8601) == date)
    #expect(try attributes.value(URL.self, for: "u", as: .text) == url)
    #expect(try attributes.value(String.self, for: "t", as: .text) == "text")
    #expect(try attributes.value(for: "b", as: .data) == Data([255]))

    let errors = [
      failure { _ = try attributes.value(Int32.self, for: "n", as: .decimal) },
      failure { _ = try attributes.value(UInt8.self, for: "t", as: .decimal) },
      failure { _ = try attributes.string(for: "b") },
      failure { _ = try attributes.value(String.self, for: "b", as: .text) },
      failure { _ = try attributes.value(Date.self, for: "t", as: .iso8601) },
      failure { _ = try attributes.value(Film.self, for: "t") },
      failure { _ = try attributes.value(Film.self, for: "t", as: .json) },
      failure { try attributes.set(value: ["a": NSObject()], for: "o", as: .propertyListObject) },
    ]
    for error in errors {
      #expect(error?.kind == .invalidValue)
      #expect(error?.errno == 0)
    }
    #expect(try !attributes.contains("o"))
    try attributes.set(Data([0xef, 0xbb, 0xbf, 0x61]), for: "bom")
    #expect(try attributes.string(for: "bom")?.utf8.count == 4)
    for bad in [[0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]] {
      for padding in [0, 5, 8, 2000] {
        let bytes = [UInt8](repeating: 97, count: padding) + bad.map { UInt8($0) }
        try attributes.set(bytes, for: "bad")
        #expect(failure { _ = try attributes.string(for: "bad") }?.kind == .invalidValue)
      }
    }
    let long = String(repeating: "é🎬x", count: 1000)
    try attributes.set(string: long, for: "long")
    #expect(try attributes.string(for: "long") == long)
  }

  @Test(arguments: PlaceKind.allCases)
  func othersReadWhatItWrites(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let attributes = url.extendedAttributes
    try attributes.set(value: Self.film, for: "film")
    try attributes.set(value: Self.film, for: "film.json", as: .json)
    try attributes.set(value: 42, for: "plist.int")
    try attributes.set(value: "té", for: "plist.string")
    try attributes.set(value: Date(timeIntervalSince1970: 86_400), for: "plist.date")
    try attributes.set(value: true, for: "plist.bool")
    try attributes.set(value: Data([1, 2]), for: "plist.data")
    try attributes.set(
      value: ["a": [1, "b", Data([3])]] as [String: Any], for: "plist.object",
      as: .propertyListObject)
    try attributes.set(value: 42, for: "decimal", as: .decimal)
    try attributes.set(string: "té", for: "text")
    try attributes.set(Data(), for: "empty")
    let program = """
      import os, sys, plistlib, json, datetime
      p = sys.argv[1]
      get = lambda n: os.getxattr(p, 'user.' + n)
      plist = lambda n: plistlib.loads(get(n), fmt=plistlib.FMT_BINARY)
      film = dict(title='Ségolène 🎬', year=1968, seen=[datetime.datetime(1970, 1, 2)],
                  poster=b'\\x00\\x01\\xff')
      assert plist('film') == film, plist('film')
      j = json.loads(get('film.json'))
      assert j['title'] == film['title'] and j['year'] == 1968 and j['poster'] == 'AAH/', j
      assert plist('plist.int') == 42
      assert plist('plist.string') == 'té'
      assert plist('plist.date') == datetime.datetime(1970, 1, 2)
      assert plist('plist.bool') is True
      assert plist('plist.data') == b'\\x01\\x02'
      assert plist('plist.object') == {'a': [1, 'b', b'\\x03']}
      assert get('decimal') == b'42' and get('text') == 'té'.encode() and get('empty') == b''
      assert len(os.listxattr(p)) == 11, os.listxattr(p)
      print('fine', end='')
      """
    #expect(try python(program, url.path) == "fine")
    let dump = try check(["getfattr", "--absolute-names", "-d", url.path])
    #expect(dump.contains("user.decimal=\"42\"\n"))
    #expect(dump.contains("user.empty=\"\"\n"))
    let text = try check([
      "getfattr", "--absolute-names", "--only-values", "-n", "user.text", url.path,
    ])
    #expect(text == "té")
  }

  @Test(arguments: PlaceKind.allCases)
  func itReadsWhatOthersWrite(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let program = """
      import os, sys, plistlib, json, datetime
      p = sys.argv[1]
      put = lambda n, v: os.setxattr(p, 'user.' + n, v)
      film = dict(title='Ségolène 🎬', year=1968, seen=[datetime.datetime(1970, 1, 2)],
                  poster=b'\\x00\\x01\\xff')
      put('film', plistlib.dumps(film, fmt=plistlib.FMT_BINARY))
      put('film.xml', plistlib.dumps(film))
      put('int', plistlib.dumps(42, fmt=plistlib.FMT_BINARY))
      put('strings', plistlib.dumps(['a', 'é'], fmt=plistlib.FMT_BINARY))
      put('json', json.dumps({'a': 1}).encode())
      put('com.apple.metadata:kMDItemWhereFroms',
          plistlib.dumps(['https://example.com/'], fmt=plistlib.FMT_BINARY))
      """
    _ = try python(program, url.path)
    try check(["setfattr", "-n", "user.text", "-v", "té", url.path])
    try check(["setfattr", "-n", "user.hex", "-v", "0x00ff", url.path])
    try check(["setfattr", "-n", "user.number", "-v", "-17", url.path])
    let attributes = url.extendedAttributes
    #expect(try attributes.value(for: "film") == Self.film)
    #expect(try attributes.value(for: "film.xml") == Self.film)
    #expect(try attributes.value(Int.self, for: "int") == 42)
    #expect(try attributes.value([String].self, for: "strings") == ["a", "é"])
    #expect(try attributes.value([String: Int].self, for: "json", as: .json) == ["a": 1])
    #expect(try attributes.string(for: "text") == "té")
    #expect(try attributes.data(for: "hex") == Data([0, 255]))
    #expect(try attributes.value(Int.self, for: "number", as: .decimal) == -17)
    #expect(try attributes[.whereFroms] == ["https://example.com/"])
    let object = try attributes.value(Any.self, for: "film", as: .propertyListObject)
    #expect((object as? [String: Any])?["year"] as? Int == 1968)
  }

  @Test(arguments: PlaceKind.allCases)
  func keysKnowTheirTypes(_ kind: PlaceKind) throws {
    let place = try Place(kind)
    let url = try place.file()
    let attributes = url.extendedAttributes
    let count = ExtendedAttributeKey<Int>("com.example.count", as: .decimal)
    let film = ExtendedAttributeKey<Film>("com.example.film")
    #expect(try attributes[count] == nil)
    try attributes.set(5, for: count, options: .create)
    try attributes.set(Self.film, for: film)
    #expect(try attributes[count] == 5)
    #expect(try attributes.value(for: film) == Self.film)
    #expect(try attributes.contains(film))
    #expect(failure { try attributes.set(6, for: count, options: .create) }?.kind == .exists)
    try attributes.set(nil, for: count)
    #expect(try attributes[count] == nil)
    #expect(try attributes.remove(film))
    #expect(try !attributes.contains(film))

    try attributes.set(["a", "b"], for: .keywords)
    try attributes.set(4, for: .starRating)
    try attributes.set([Date(timeIntervalSince1970: 86_400)], for: .downloadedDate)
    try attributes.set(true, for: .isScreenCapture)
    try attributes.set("0081;5f;Safari;", for: .quarantine)
    let program = """
      import os, sys, plistlib, datetime
      md = lambda n: plistlib.loads(os.getxattr(sys.argv[1], 'user.com.apple.metadata:kMDItem' + n))
      assert md('Keywords') == ['a', 'b'] and md('StarRating') == 4
      assert md('DownloadedDate') == [datetime.datetime(1970, 1, 2)] and md('IsScreenCapture') is True
      print(os.getxattr(sys.argv[1], 'user.com.apple.quarantine').decode(), end='')
      """
    #expect(try python(program, url.path) == "0081;5f;Safari;")
    #expect(try attributes[.keywords] == ["a", "b"])
    #expect(try attributes[.isScreenCapture] == true)
  }
}
