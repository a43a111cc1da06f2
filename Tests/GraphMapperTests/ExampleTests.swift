import Foundation
import Testing

/// The examples do what their documentation says, as a person would run them.
@Suite struct `The shopping cart example` {
    struct Run {
        let status: Int32
        let output: String

        /// What follows `prefix` on the line that begins with it.
        func value(_ prefix: String) -> String? {
            output.split(separator: "\n").map { $0.drop { $0 == " " } }.first { $0.hasPrefix(prefix) }
                .map { String($0.dropFirst(prefix.count)) }
        }
    }

    /// Runs the built executable, which stands beside the tests; if a folder is given, as the current and temporary one.
    func run(_ arguments: String..., in folder: URL? = nil) throws -> Run {
        let log = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data().write(to: log)
        defer { try? FileManager.default.removeItem(at: log) }
        let process = Process()
        process.executableURL = Compiler.modules.deletingLastPathComponent().appendingPathComponent("ShoppingCart")
        process.arguments = arguments
        if let folder {
            process.currentDirectoryURL = folder
            process.environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) { $1 }
        }
        let handle = try FileHandle(forWritingTo: log)
        process.standardOutput = handle
        process.standardError = handle
        try process.run()
        process.waitUntilExit()
        return Run(status: process.terminationStatus, output: try String(contentsOf: log, encoding: .utf8))
    }

    func withFile(_ body: (String) throws -> Void) throws {
        try body(try Scratch.file("shop.sqlite"))
    }

    /// What every run says, whatever earlier ones changed.
    func expectTheScenes(_ run: Run, price: Int) {
        #expect(run.status == 0, "\(run.output)")
        for line in [
            "4 references → 3 instances", "one === other is true", "user.cart.owner === user is true",
            "carts that know their user: 2 of 2", "the same graph from either end: true",
            "\(price) → \(price + 50) in hoon's cart; in the other cart it is \(price + 50)",
            "exactly the plan: true", "UPDATE \"item\" SET \"price\" = ? WHERE \"id\" = ? AND \"price\" IS ?",
            "1 row written; writing every object at each place where it stands takes 12",
            "saved again: 0 changes, 0 statements", "UPDATE \"item\" SET \"name\" = ? WHERE \"id\" = ?",
            "isSelected = true: 0 changes to save", "isSelected is true", "isSelected among them: false",
            "the same in the other order: true", "rows untouched: true", "live models: 7 of 7", "live models: 0 of 7",
        ] {
            #expect(run.output.contains(line), "\(line) is missing in\n\(run.output)")
        }
        #expect(run.value("picture: ") == "https://shop.example/espresso.png")
        #expect(run.output.contains("\n  picture: nil\n"))
        #expect(run.value("before: ") == run.value("after:  "))
        let made = run.value("then the models, parents first: ") ?? ""
        #expect(made.hasPrefix("user hoon, cart, item "), "\(made)")
    }

    @Test func `the second run finds what the first one left`() throws {
        try withFile { path in
            let first = try run("--file", path)
            #expect(first.output.hasPrefix("The shop's file: \(path)\n"))
            #expect(first.value("seeded ")?.hasPrefix("2 users: 9 changes") == true, "\(first.output)")
            expectTheScenes(first, price: 250)
            let second = try run("--file", path)
            #expect(second.value("found ") == "2 users of an earlier run")
            expectTheScenes(second, price: 300)
        }
    }

    @Test func `orders go from JSON into models, into the file, and out as they came`() throws {
        let sample = Compiler.root.appendingPathComponent("Examples/ShoppingCart/orders.json")
        func object(_ file: URL) throws -> NSArray {
            try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? NSArray)
        }
        let orders = try object(sample)
        try withFile { path in
            for changes in [599, 0] {
                let run = try run("--json", sample.path, "--file", path)
                #expect(run.status == 0, "\(run.output)")
                #expect(run.output.contains("120 orders of 30 customers; the JSON nests 120 of them"), "\(run.output)")
                #expect(run.value("saved: ") == "\(changes) changes")
                #expect(run.value("saved again: ") == "0 changes")
                #expect(run.output.contains("but for the order of keys: true"))
                #expect(run.output.contains("a session that has not seen the JSON: true"))
                #expect(try object(URL(fileURLWithPath: path + ".json")) == orders)
            }
        }
    }

    @Test func `more users are more references to one item`() throws {
        try withFile { path in
            let run = try run("--users", "20", "--file", path)
            #expect(run.status == 0)
            #expect(run.output.contains("40 references → 21 instances"))
            #expect(run.output.contains("live models: 0 of 61"))
        }
    }

    @Test(arguments: [["--bogus"], ["--users"], ["--users", "many"], ["--users", "1"], ["--file"], ["--json"]])
    func `what it does not understand is an error`(arguments: [String]) throws {
        let run = try arguments.count == 1 ? run(arguments[0]) : run(arguments[0], arguments[1])
        #expect(run.status == 2)
        #expect(run.output.contains("usage: "))
    }

    @Test func `orders that are not there, and what is no list of orders, are an error in a sentence`() throws {
        try withFile { path in
            let missing = try run("--json", path + ".missing", "--file", path)
            #expect(missing.status == 1)
            #expect(missing.output == "ShoppingCart: --json \(path).missing: there is no such file\n")
            try "[{}]".write(toFile: path + ".json", atomically: true, encoding: .utf8)
            let wrong = try run("--json", path + ".json", "--file", path)
            #expect(wrong.status == 1)
            #expect(wrong.output.hasSuffix("0: id is missing\n"), "\(wrong.output)")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test(arguments: [true, false]) func `a checkout has a file of its own`(isBuiltHere: Bool) throws {
        try withFile { path in
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
            let build = folder.appendingPathComponent(".build")
            if isBuiltHere { try FileManager.default.createDirectory(at: build, withIntermediateDirectories: false) }
            let run = try run(in: folder)
            let file = (isBuiltHere ? build : folder).appendingPathComponent("shop.sqlite").path
            #expect(run.value("The shop's file: ") == "\(file) (--file PATH names another)", "\(run.output)")
            #expect(FileManager.default.fileExists(atPath: file))
        }
    }

    @Test func `help is no error`() throws {
        let run = try run("--help")
        #expect(run.status == 0)
        #expect(run.output.hasPrefix("usage: "))
    }

    @Test func `a file that is no shop is left alone`() throws {
        try withFile { path in
            let text = String(repeating: "this is no database. ", count: 50)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
            let run = try run("--file", path)
            #expect(run.status == 1)
            #expect(run.output.contains("not a database"))
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
    }
}
