// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
    name: "GraphMapper",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [
        .library(name: "GraphMapper", targets: ["GraphMapper"]),
        .library(name: "GraphMapperStore", targets: ["GraphMapperStore"]),
        .library(name: "GraphMapperTesting", targets: ["GraphMapperTesting"]),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite3"])]),
        .target(name: "GraphMapper", swiftSettings: settings),
        .target(name: "GraphMapperStore", dependencies: ["GraphMapper", "CSQLite"], swiftSettings: settings),
        .target(name: "GraphMapperTesting", dependencies: ["GraphMapper"], swiftSettings: settings),
        .target(name: "ShopModels", path: "Examples/ShopModels", swiftSettings: settings),
        .executableTarget(
            name: "ShoppingCart", dependencies: ["GraphMapperStore", "ShopModels"], path: "Examples/ShoppingCart",
            exclude: ["orders.json"], swiftSettings: settings),
        .target(
            name: "PlacesApp", dependencies: ["GraphMapper"], path: "Examples/Places/App", swiftSettings: settings),
        .executableTarget(
            name: "Places", dependencies: ["GraphMapperStore", "PlacesApp"], path: "Examples/Places/Main",
            swiftSettings: settings),
        .executableTarget(
            name: "People", dependencies: ["GraphMapperStore"], path: "Examples/People", swiftSettings: settings),
        .target(
            name: "PackageGraph", dependencies: ["GraphMapperStore"], path: "Examples/PackageGraph",
            swiftSettings: settings),
        .executableTarget(
            name: "Benchmarks", dependencies: ["GraphMapperStore", "PackageGraph", "CSQLite"], path: "Benchmarks",
            swiftSettings: settings),
        .testTarget(
            name: "GraphMapperTests",
            dependencies: [
                "GraphMapperStore", "GraphMapperTesting", "ShopModels", "ShoppingCart", "Places", "People",
                "PackageGraph",
            ],
            swiftSettings: settings),
        .testTarget(
            name: "DefaultIsolationTests", dependencies: ["GraphMapperStore"],
            swiftSettings: settings + [.defaultIsolation(MainActor.self)]),
    ]
)
