import Foundation

/// What the command line asks for.
struct Options {
    static let usage = """
        usage: ShoppingCart [--users N] [--file PATH]

          --users N     users to seed an empty file with, at least 2 (the default); try 100000
          --file PATH   the SQLite file; by default shop.sqlite in the temporary directory
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
            case "--file":
                guard let file = rest.next(), !file.isEmpty else { throw Mistake("--file needs a path") }
                path = file
                isDefaultPath = false
            default: throw Mistake("unknown option \(option)")
            }
        }
    }
}
