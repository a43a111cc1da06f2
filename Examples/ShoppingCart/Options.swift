import Foundation

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: ShoppingCart [--users N] [--file PATH]
               ShoppingCart --json FILE [--file PATH]

          --users N     users to seed an empty file with, at least 2 (the default); try 100000
          --file PATH   the SQLite file; by default shop.sqlite in the temporary directory
          --json FILE   orders as a web API sends them, such as Examples/ShoppingCart/orders.json: into
                        models, stored, and out again; by default stored in orders.sqlite there
          --help        this text
        """

    struct Mistake: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    var users = 2
    /// Whether the number of users was asked for.
    var isCountGiven = false
    var path = FileManager.default.temporaryDirectory.appendingPathComponent("shop.sqlite").path
    var isDefaultPath = true
    var isHelp = false
    /// The orders to import, in place of the scenes.
    var json: String?

    init(_ arguments: some Sequence<String>) throws {
        var rest = arguments.makeIterator()
        while let option = rest.next() {
            switch option {
            case "--help", "-h": isHelp = true
            case "--users":
                guard let count = rest.next().flatMap({ Int($0) }), count >= 2 else {
                    throw Mistake("--users needs a number, 2 or more")
                }
                users = count
                isCountGiven = true
            case "--json":
                guard let file = rest.next(), !file.isEmpty else { throw Mistake("--json needs a path") }
                json = file
            case "--file":
                guard let file = rest.next(), !file.isEmpty else { throw Mistake("--file needs a path") }
                path = file
                isDefaultPath = false
            default: throw Mistake("unknown option \(option)")
            }
        }
        if json != nil, isDefaultPath {
            path = FileManager.default.temporaryDirectory.appendingPathComponent("orders.sqlite").path
        }
    }
}
