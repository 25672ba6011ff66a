import ExampleSupport
import ExtendedAttributes
import Foundation

let help = """
  usage: mirror [--delete] [--quiet] URL DIRECTORY

  Copies what an HTML listing at URL (as web servers make of a directory) links to,
  with the directories below, to DIRECTORY. Each file's ETag, Last-Modified and length
  are kept in its extended attributes; the next run transfers only what has changed on
  the server, or was changed or removed here.

    --delete   remove files here that came from the server and are gone there
    --quiet    no progress bar, only errors
    --help     this text

  exit status: 0 done; 1 something could not be transferred, the rest was; 2 wrong
  usage; 3 the file system keeps no extended attributes
  """

func main() -> Exit {
  let options: Options
  do {
    options = try Options(
      CommandLine.arguments.dropFirst(), flags: ["--delete", "--quiet", "--help", "-h"])
  } catch {
    complain("mirror: \(error)\n\(help)")
    return .usage
  }
  if options.has("--help") || options.has("-h") {
    print(help)
    return .success
  }
  guard options.words.count == 2, let url = URL(string: options.words[0]),
    let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme)
  else {
    complain("mirror: want the URL of a listing, http or https, and a directory\n\(help)")
    return .usage
  }
  do {
    let mirror = Mirror(
      of: url, in: options.words[1], deletes: options.has("--delete"),
      isQuiet: options.has("--quiet"))
    let isWhole = try mirror.run()
    return isWhole ? .success : .failure
  } catch let error as ExtendedAttributeError where error.kind == .notSupported {
    complain("mirror: \(error)")
    complain("Take a directory on another file system, or mount this one with sidecarfs.")
    return .unsupported
  } catch {
    complain("mirror: \(error)")
    return .failure
  }
}

exit(main().rawValue)
