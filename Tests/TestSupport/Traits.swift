import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
  /// For tests that mount with FUSE, and prepare sources for it, as root.
  package static var needsFuse: Self {
    .enabled(
      if: geteuid() == 0 && access("/dev/fuse", R_OK | W_OK) == 0,
      "needs root and /dev/fuse: run as root, in a container with --device /dev/fuse")
  }

  /// For tests that act as several users or mount file systems.
  package static var needsRoot: Self { .enabled(if: geteuid() == 0, "needs root") }

  /// For tests that make file systems of their own on loop devices.
  package static var needsLoop: Self {
    .enabled(
      if: geteuid() == 0 && access("/dev/loop-control", R_OK | W_OK) == 0,
      "needs root and /dev/loop-control")
  }
}
