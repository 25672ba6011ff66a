import Glibc
import TestSupport
import Testing

/// What the tools' tests share: trees with attributes, made and read by Python on any file system.
enum Tool {
  /// Runs `sidecarfs` with these words.
  static func run(_ words: String..., input: [UInt8] = [], in directory: String? = nil) throws
    -> Outcome
  {
    try TestSupport.run([try daemonBinary()] + words, in: directory, input: input)
  }

  /// Runs it, and expects this exit status.
  @discardableResult
  static func run(
    _ words: [String], ends status: Int32, input: [UInt8] = [],
    _ location: SourceLocation = #_sourceLocation
  ) throws -> Outcome {
    let outcome = try TestSupport.run([try daemonBinary()] + words, input: input)
    #expect(
      outcome.status == status, "\(words): \(outcome.errorText)\(outcome.text)",
      sourceLocation: location)
    return outcome
  }

  /// Puts in order what a daemon that died, or a store that failed, could not be told of: records of
  /// dead objects are set aside, or removed where another object has the name. What was found.
  static func putInOrder(_ store: String, of source: String, _ options: String...) throws -> String
  {
    let options = options + ["--store", store, source]
    let found = try TestSupport.run([try daemonBinary(), "check", "--repair"] + options)
    #expect([0, 1, 4].contains(found.status), "\(found.text)\(found.errorText)")
    if found.status == 4 {
      #expect(found.text.contains("replaced: "), "\(found.text)")
      let pruned = try TestSupport.run([try daemonBinary(), "prune", "--replaced"] + options)
      #expect(pruned.status <= 1, "\(pruned.text)\(pruned.errorText)")
    }
    return found.text
  }

  /// Makes files of every type and name that is hard to write down; no attributes. `isWhole` with
  /// the second name of one, which `setAttributes` makes as well.
  static func makeTree(in directory: String, isWhole: Bool = false) throws {
    try check(["python3", "-c", tree, directory, isWhole ? "1" : ""])
  }

  /// Gives them attributes, and one a second name.
  static func setAttributes(in directory: String, trailingNUL: Bool) throws {
    try check(["python3", "-c", attributes, directory, trailingNUL ? "1" : ""])
  }

  /// A line for each attribute below a directory, as Python reads them; in order.
  static func listing(of directory: String) throws -> [String] {
    try check(["python3", "-c", list, directory]).split(separator: "\n").map(String.init)
  }

  private static let tree = #"""
    import os, sys
    os.chdir(sys.argv[1].encode())
    for name in [b'd', b'd/e', b'd/e/f', b'empty']: os.mkdir(name)
    for name in [b'a', b'sp ace', b'nl\nx', b'cr\rx', b'back\\slash', b'q"t', b'eq=u', b'#hash',
                 b'\xff\xfe', b'd/e/f/deep', 'd/ü'.encode(), b'-x', b'plain']:
        open(name, 'wb').write(name)
    os.symlink(b'a', b'link')
    os.mkfifo(b'fifo')
    if sys.argv[2]: os.link(b'a', b'd/second')
    """#

  private static let attributes = #"""
    import os, sys
    os.chdir(sys.argv[1].encode())
    values = {b'user.text': b'hello "q" \\ x', b'user.empty': b'', b'user.binary': bytes(range(256)),
              b'user.lines': b'line\nline2\rcr\ttab and enough text', b'user.0x': b'0x41 0s',
              b'user.middle': b'abcdefghijkl\0mnopqrstuvwx', b'user.utf': 'grüße aus der'.encode(),
              b'user.\xff=x y': b'1', b'user.nl\nx': b'2', b'user.bs\\x"': b'3', b'trusted.t': b't',
              b'user.large': b'z' * 3000, b'security.s': b's'}
    if sys.argv[2]: values.update({b'user.nul': b'\0', b'user.text0': b'text\0', b'user.00': b'a\0\0'})
    for name, value in values.items(): os.setxattr(b'a', name, value)
    os.link(b'a', b'd/second')
    for base, directories, files in os.walk(b'.'):
        for name in directories + files:
            path = os.path.join(base, name)
            if name == b'plain': continue
            special = os.path.islink(path) or name == b'fifo'
            os.setxattr(path, b'trusted.n' if special else b'user.n', name, follow_symlinks=False)
    os.setxattr(b'.', b'user.root', b'r')
    """#

  private static let list = #"""
    import os, sys
    os.chdir(sys.argv[1].encode())
    lines = []
    def add(path):
        for name in os.listxattr(path, follow_symlinks=False):
            value = os.getxattr(path, name, follow_symlinks=False)
            lines.append(repr((path, os.fsencode(name), value)))
    add(b'.')
    for base, directories, files in os.walk(b'.'):
        for name in directories + files: add(os.path.join(base, name))
    print('\n'.join(sorted(lines)))
    """#
}
