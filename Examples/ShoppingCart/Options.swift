import Foundation

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: ShoppingCart [--users N] [--file PATH]
               ShoppingCart --json FILE [--file PATH]

          --users N     users to seed an empty file with, at least 2 (the default); try 100000
          --file PATH   the SQLite file; by default .build/shop.sqlite in this directory, or
                        shop.sqlite in the temporary directory if there is no .build
          --json FILE   orders as a web API sends them, such as Examples/ShoppingCart/orders.json: into
                        models, stored, and out again; the file is orders.sqlite by default
          --help        this text
        """

    struct Mistake: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    var users = 2
    /// Whether the number of users was asked for.
    var isCountGiven = false
    var path = defaultPath("shop.sqlite")
    var isDefaultPath = true
    var isHelp = false
    /// The orders to import, in place of the scenes.
    var json: String?

    /// Beside what is built of this checkout, so that two checkouts do not share it.
    private static func defaultPath(_ name: String) -> String {
        let files = FileManager.default
        var isFolder: ObjCBool = false
        let build = URL(fileURLWithPath: files.currentDirectoryPath).appendingPathComponent(".build")
        let isThere = files.fileExists(atPath: build.path, isDirectory: &isFolder) && isFolder.boolValue
        return (isThere ? build : files.temporaryDirectory).appendingPathComponent(name).path
    }

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
        if json != nil, isDefaultPath { path = Self.defaultPath("orders.sqlite") }
    }
}
