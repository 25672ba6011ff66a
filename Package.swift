// swift-tools-version: 6.2
import PackageDescription

let common: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

/// Targets that touch no C and no raw memory: the compiler refuses any that creeps in.
let safe = common + [.strictMemorySafety()]

/// Shows Swift what Linux adds to POSIX: `O_PATH`, `AT_EMPTY_PATH`, `renameat2`, `statx`.
let gnu: [CSetting] = [.define("_GNU_SOURCE")]

let package = Package(
  name: "SidecarFS",
  products: [
    .executable(name: "sidecarfs", targets: ["sidecarfs"]),
    .library(name: "ExtendedAttributes", targets: ["ExtendedAttributes"]),
  ],
  targets: [
    // C, seen from Swift: headers only.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CFUSE", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

    // From the bottom up; a target knows only those named in its dependencies.
    .target(
      name: "LinuxSystem", dependencies: ["CLinux"], cSettings: gnu, swiftSettings: common),
    .target(name: "AttributeModel", dependencies: ["LinuxSystem"], swiftSettings: safe),
    .target(name: "SQLite", dependencies: ["CSQLite", "LinuxSystem"], swiftSettings: common),
    .target(
      name: "SidecarStore", dependencies: ["SQLite", "AttributeModel", "LinuxSystem"],
      swiftSettings: safe),
    .target(
      name: "FUSE", dependencies: ["CFUSE", "CLinux", "LinuxSystem"], cSettings: gnu,
      swiftSettings: common),
    .target(
      name: "Overlay", dependencies: ["FUSE", "SidecarStore", "AttributeModel", "LinuxSystem"],
      swiftSettings: safe),
    .target(
      name: "Commands",
      dependencies: ["Overlay", "FUSE", "SidecarStore", "AttributeModel", "LinuxSystem"],
      swiftSettings: safe),
    .executableTarget(
      name: "sidecarfs", dependencies: ["Commands"], swiftSettings: safe),

    // The client library: stands alone, knows Foundation and nothing of the above.
    .systemLibrary(name: "CExtendedAttributes"),
    .target(
      name: "ExtendedAttributes",
      dependencies: [
        .target(name: "CExtendedAttributes", condition: .when(platforms: [.linux]))
      ],
      swiftSettings: common),
  ]
)
