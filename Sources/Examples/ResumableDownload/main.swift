import ExampleSupport
import ExtendedAttributes
import Foundation

let help = """
  usage: resumable-download [--keep] [--quiet] URL [FILE]

  Downloads URL to FILE (by default the last word of the URL's path). While it is
  incomplete it is called FILE.part, and what has to be remembered to go on with it
  - the length, the server's ETag or date, how much has arrived - is kept in the
  extended attributes of that file, nowhere else. Interrupt it, kill it, unmount the
  disk: the next run goes on where this one was. If the file on the server has
  changed meanwhile, it starts anew.

    --keep     if the file on the server has changed, keep the part and exit with 4
    --quiet    no progress bar, no messages
    --help     this text

  exit status: 0 done; 1 the network, the server or the disk failed, run it again;
  2 wrong usage; 3 the file system keeps no extended attributes; 4 changed, kept
  """

func main() -> Exit {
  let options: Options
  do {
    options = try Options(
      CommandLine.arguments.dropFirst(), flags: ["--keep", "--quiet", "--help", "-h"])
  } catch {
    complain("resumable-download: \(error)\n\(help)")
    return .usage
  }
  if options.has("--help") || options.has("-h") {
    print(help)
    return .success
  }
  guard (1...2).contains(options.words.count), let url = URL(string: options.words[0]),
    let scheme = url.scheme?.lowercased(), ["http", "https"].contains(scheme)
  else {
    complain("resumable-download: want the URL, http or https, and perhaps a file\n\(help)")
    return .usage
  }
  let name = options.words.count == 2 ? options.words[1] : url.lastPathComponent
  guard !name.isEmpty, name != "/" else {
    complain("resumable-download: the URL ends in no name: say which file to write\n\(help)")
    return .usage
  }
  do {
    try Download(
      from: url, to: name, keepsChanged: options.has("--keep"), isQuiet: options.has("--quiet")
    ).run()
    return .success
  } catch let error as ExtendedAttributeError where error.kind == .notSupported {
    complain("resumable-download: \(error)")
    complain("Put the file on another file system, or mount this one with sidecarfs.")
    return .unsupported
  } catch is Download.Changed {
    complain("resumable-download: the file on the server has changed; the part is kept")
    return .changed
  } catch {
    complain("resumable-download: \(error)")
    return .failure
  }
}

exit(main().rawValue)
