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
    .executable(name: "sidecarfs", targets: ["sidecarfs"])
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
      name: "Commands", dependencies: ["Overlay", "FUSE", "SidecarStore", "LinuxSystem"],
      swiftSettings: safe),
    .executableTarget(
      name: "sidecarfs", dependencies: ["Commands", "LinuxSystem"], swiftSettings: safe),

    // Tests, one target for each of the above, and what they share.
    .target(
      name: "TestSupport", dependencies: ["CLinux", "LinuxSystem"], path: "Tests/TestSupport",
      cSettings: gnu, swiftSettings: common),
    .testTarget(
      name: "AttributeModelTests", dependencies: ["AttributeModel", "LinuxSystem", "CLinux"],
      cSettings: gnu, swiftSettings: common),
    .testTarget(
      name: "SQLiteTests", dependencies: ["SQLite", "LinuxSystem"], swiftSettings: common),
    .testTarget(
      name: "SidecarStoreTests",
      dependencies: [
        "SidecarStore", "SQLite", "AttributeModel", "LinuxSystem", "CLinux", "CSQLite",
      ],
      cSettings: gnu, swiftSettings: common),
    .executableTarget(
      name: "Hammer", dependencies: ["CLinux"], path: "Tests/Hammer", cSettings: gnu,
      swiftSettings: common),
    .testTarget(
      name: "LinuxSystemTests", dependencies: ["LinuxSystem", "TestSupport", "CLinux"],
      cSettings: gnu, swiftSettings: common),
    .testTarget(
      name: "CommandsTests", dependencies: ["Commands", "Overlay", "LinuxSystem"],
      swiftSettings: common),
    .testTarget(
      name: "MountTests",
      dependencies: ["TestSupport", "CLinux", "LinuxSystem", "sidecarfs", "Hammer"],
      cSettings: gnu, swiftSettings: common),
  ]
)
