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
  platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9)],
  products: [
    .executable(name: "sidecarfs", targets: ["sidecarfs"]),
    .library(name: "ExtendedAttributes", targets: ["ExtendedAttributes"]),
  ],
  traits: [
    .trait(
      name: "IOUring",
      description: "The kernel may hand requests over by io_uring (Linux 6.14); needs liburing."),
    .default(enabledTraits: ["IOUring"]),
  ],
  targets: [
    // C, seen from Swift: headers only.
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CFUSE", pkgConfig: "fuse3", providers: [.apt(["libfuse3-dev"])]),
    .systemLibrary(name: "CURing", pkgConfig: "liburing", providers: [.apt(["liburing-dev"])]),
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
      name: "FUSE",
      dependencies: [
        "CFUSE", "CLinux", "LinuxSystem",
        .target(name: "CURing", condition: .when(traits: ["IOUring"])),
      ],
      cSettings: gnu, swiftSettings: common),
    .target(
      name: "Overlay", dependencies: ["FUSE", "SidecarStore", "AttributeModel", "LinuxSystem"],
      swiftSettings: safe),
    .target(
      name: "Commands",
      dependencies: ["Overlay", "FUSE", "SidecarStore", "AttributeModel", "LinuxSystem"],
      swiftSettings: safe),
    .executableTarget(
      name: "sidecarfs", dependencies: ["Commands", "LinuxSystem"], swiftSettings: safe),

    // The client library: stands alone, knows Foundation and nothing of the above. Its examples,
    // its benchmark and their tests.
    .systemLibrary(name: "CExtendedAttributes"),
    .target(
      name: "ExtendedAttributes",
      dependencies: [
        .target(name: "CExtendedAttributes", condition: .when(platforms: [.linux]))
      ],
      swiftSettings: common),
    .target(
      name: "ExampleSupport", path: "Sources/Examples/Support", swiftSettings: common),
    .executableTarget(
      name: "resumable-download", dependencies: ["ExampleSupport", "ExtendedAttributes"],
      path: "Sources/Examples/ResumableDownload", swiftSettings: common),
    .executableTarget(
      name: "mirror", dependencies: ["ExampleSupport", "ExtendedAttributes"],
      path: "Sources/Examples/Mirror", swiftSettings: common),
    .target(name: "CAllocationCount", path: "Sources/Benchmarks/CAllocationCount"),
    .executableTarget(
      name: "attribute-cost",
      dependencies: ["CAllocationCount", "CExtendedAttributes", "ExtendedAttributes"],
      path: "Sources/Benchmarks/AttributeCost", swiftSettings: common),
    .target(
      name: "ClientTestSupport", dependencies: ["ExtendedAttributes", "TestSupport"],
      path: "Tests/ClientTestSupport", swiftSettings: common),
    .testTarget(
      name: "ExtendedAttributesTests",
      dependencies: [
        "ExtendedAttributes", "ClientTestSupport", "TestSupport", "LinuxSystem", "attribute-cost",
        "sidecarfs",
      ],
      swiftSettings: common),
    .testTarget(
      name: "ExamplesTests",
      dependencies: [
        "ExtendedAttributes", "ClientTestSupport", "TestSupport", "resumable-download",
        "mirror", "sidecarfs",
      ],
      exclude: ["Server.py"],
      swiftSettings: common),

    // How fast mounts are: the benchmark, what it makes of its numbers, and the server that does
    // nothing, which no mount can beat.
    .executableTarget(
      name: "floor-server", dependencies: ["CFUSE"], path: "Sources/Benchmarks/FloorServer"),
    .target(name: "SpeedFigures", path: "Sources/Benchmarks/SpeedFigures", swiftSettings: safe),
    .executableTarget(
      name: "mount-speed", dependencies: ["SpeedFigures", "CLinux", "LinuxSystem"],
      path: "Sources/Benchmarks/MountSpeed", cSettings: gnu, swiftSettings: common),
    .testTarget(
      name: "SpeedFiguresTests", dependencies: ["SpeedFigures"], swiftSettings: common),

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
    .testTarget(
      name: "FUSETests", dependencies: ["FUSE", "LinuxSystem", "TestSupport"],
      swiftSettings: common),
    .testTarget(
      name: "OverlayTests",
      dependencies: [
        "Overlay", "FUSE", "SidecarStore", "AttributeModel", "LinuxSystem", "TestSupport",
      ], swiftSettings: common),
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
      dependencies: [
        "TestSupport", "CLinux", "LinuxSystem", "SQLite", "sidecarfs", "Hammer", "mount-speed",
        "floor-server",
      ],
      cSettings: gnu, swiftSettings: common),
  ]
)
