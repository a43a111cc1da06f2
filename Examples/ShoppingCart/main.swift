import Foundation
import GraphMapperStore

/// `ShoppingCart [--users N] [--file PATH]`: the shop's graph from a file into models and back, scene by scene.
/// `ShoppingCart --json FILE [--file PATH]`: orders from JSON into the same models, stored, and out again.
func run(_ options: Options) async throws {
    if let json = options.json { return try await importOrders(json, options) }
    let note = options.isDefaultPath ? " (--file PATH names another)" : ""
    show("The shop's file: \(options.path)\(note)", indent: "")
    let shop = try await Shop(options.path)
    try await seedOrFind(shop, options)
    let models = try await scenes(shop)

    title("After the session")
    show("live models: \(models.alive) of \(models.watched)")

    title("See for yourself")
    let file = options.path.contains(" ") ? "'\(options.path)'" : options.path
    show("sqlite3 \(file) .schema")
    show("sqlite3 -box \(file) 'SELECT hex(id), name, price, picture FROM item LIMIT 5'")
    show("sqlite3 -box \(file) 'SELECT hex(owner), position, hex(target) FROM cart_items LIMIT 5'")
}

/// - Returns: the models of the main session, which has ended.
func scenes(_ shop: Shop) async throws -> Lifetimes {
    let session = shop.session()
    let cast = try await identityScene(shop, session)
    try await walkScene(shop, cast)
    try await writingScene(shop, session, cast)
    try await mergingScene(shop, session, cast)
    try await patchScene(shop, cast.espresso.id)
    try await volatileScene(shop, session, cast)
    try await conflictScene(shop, cast)
    let models = Lifetimes(cast.users)
    title("Before the session ends")
    show("live models: \(models.alive) of \(models.watched)")
    return models
}

func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

do {
    let options = try Options(CommandLine.arguments.dropFirst())
    if options.isHelp { print(Options.usage) } else { try await run(options) }
} catch let mistake as Options.Mistake {
    complain("ShoppingCart: \(mistake.text)\n\(Options.usage)")
    exit(2)
} catch {
    complain("ShoppingCart: \(error)")
    exit(1)
}
