import TestSupport

/// SplitMix64: the same numbers from the same seed.
struct ModelRandom: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
    return mixed ^ (mixed >> 31)
  }

  mutating func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &self) }
  mutating func pick<Element>(_ choices: [Element]) -> Element { choices[below(choices.count)] }
}

/// Draws steps. A path is made of few names, so that many steps meet the same objects.
struct ModelGenerator {
  /// What a run may do besides calls on the mount.
  struct Powers: Sendable {
    /// Every so manieth step is a remount, a kill or a change underneath; 0 for never.
    var remount = 500
    var kill = 0
    var underneath = 0
    /// Only steps that are one call each, which happens as a whole or not at all; and values small
    /// enough for ext4.
    var isAtomic = false
  }

  private var random: ModelRandom
  private let powers: Powers

  init(seed: UInt64, _ powers: Powers) {
    random = ModelRandom(seed: seed)
    self.powers = powers
  }

  mutating func next() -> ModelAction {
    if powers.remount > 0 && random.below(powers.remount) == 0 { return .remount }
    if powers.kill > 0 && random.below(powers.kill) == 0 { return .kill }
    if powers.underneath > 0 && random.below(powers.underneath) == 0 {
      return .underneath(changeUnderneath())
    }
    return switch random.below(100) {
    case ..<28: attributeStep()
    case ..<40: .list(path())
    case ..<48: .get(path(), name())
    case ..<75: namingStep()
    case ..<85: contentStep()
    case ..<87: .names(path())
    default: powers.isAtomic ? attributeStep() : openStep()
    }
  }

  private mutating func attributeStep() -> ModelAction {
    if random.below(4) == 0 { return .remove(path(), name()) }
    // CREATE and REPLACE at once are not among the flags: file systems do not agree on them.
    return .set(
      path(), name(), size: size(), byte: byte(), flags: random.pick([0, 0, 0, 0, 1, 2]))
  }

  private mutating func namingStep() -> ModelAction {
    switch random.below(16) {
    case 0, 1, 2: .create(path())
    case 3, 4: .mkdir(path())
    case 5: .rmdir(path())
    case 6, 7: .unlink(path())
    case 8, 9, 10: .rename(path(), path(), flags: random.pick([0, 0, 0, 1, 2, 2, 3]))
    case 11, 12: .link(path(), path())
    case 13: .symlink(path(), path())
    case 14: .fifo(path())
    default: .chmod(path(), random.pick([0o600, 0o644, 0o755, 0o4755, 0o2644, 0o1777]))
    }
  }

  private mutating func contentStep() -> ModelAction {
    switch random.below(4) {
    case 0: .read(path())
    case 1: .truncate(path(), size: random.pick([0, 1, 4095, 4096, 10_000]))
    default:
      powers.isAtomic
        ? .write(path(), at: 4096 * random.below(3), count: 1 + random.below(4096), byte: byte())
        : .write(path(), at: random.below(9000), count: random.below(9000), byte: byte())
    }
  }

  private mutating func openStep() -> ModelAction {
    let slot = random.below(3)
    return switch random.below(10) {
    case 0, 1: .open(slot, path())
    case 2: .temporary(slot, random.below(2) == 0 ? "." : path())
    case 3: .close(slot)
    case 4: .writeOpen(slot, at: random.below(5000), count: random.below(5000), byte: byte())
    case 5, 6: .setOpen(slot, name(), size: size(), byte: byte())
    case 7: .listOpen(slot)
    case 8: .linkOpen(slot, path())
    default: .sync(slot)
    }
  }

  /// Nothing that ends an object: its record is found dead by a check only.
  private mutating func changeUnderneath() -> ModelAction {
    switch random.below(6) {
    case 0: .create(path())
    case 1: .mkdir(path())
    case 2: .write(path(), at: random.below(9000), count: random.below(9000), byte: byte())
    case 3: .chmod(path(), random.pick([0o600, 0o644, 0o755]))
    case 4: .link(path(), path())
    default: .rename(path(), path(), flags: random.pick([1, 2]))
    }
  }

  private mutating func path() -> String {
    let depth = random.pick([1, 1, 2, 2, 2, 3])
    return (0..<depth).map { _ in random.pick(["a", "b", "c", "d"]) }.joined(separator: "/")
  }

  private mutating func name() -> String {
    random.pick([
      "user.a", "user.a", "user.b", "user.b", "user.c", "user.d", "user.e", "trusted.t",
      "trusted.u", "user.", "foo", "foo.bar", "system.none", "user.ü x=",
    ])
  }

  private mutating func size() -> Int {
    random.pick(
      powers.isAtomic
        ? [0, 1, 10, 300] : [0, 1, 10, 10, 100, 300, 3000, 20_000, 65_536, 65_537])
  }

  private mutating func byte() -> UInt8 { UInt8.random(in: 0...255, using: &random) }
}
