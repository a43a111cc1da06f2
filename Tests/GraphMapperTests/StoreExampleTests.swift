import Foundation
import Testing

/// The examples of the store do what their documentation says, as a person would run them.
@Suite struct `The examples of the store` {
    private func run(_ name: String, _ arguments: [String] = []) throws -> (status: Int32, output: String) {
        let process = Process()
        process.executableURL = Compiler.modules.deletingLastPathComponent().appendingPathComponent(name)
        process.arguments = arguments
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        try process.run()
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    @Test func `places: three repositories, one transcript, and few statements`() throws {
        let (status, output) = try run("Places")
        #expect(status == 0, "\(output)")
        for line in [
            "count: 10000, 1 statements", "[0]: Ulm Minster, visit 0, 2 statements",
            "[9_999]: Ulm Minster, visit 9999, 1 statements", "[9_998]: Ulm Minster, visit 9998, 0 statements",
            "Blautopf (altitude unknown): 3 comments", "comment 7: the place of comment 100007 is gone",
            "the store: the same lines", "arrays: the same lines", "an object database: the same lines",
        ] { #expect(output.contains(line), "\(line)\n\(output)") }
        for what in ["walked to the end", "all copied to an array"] {
            #expect(
                output.split(separator: "\n").contains { $0.contains(what) && $0.hasSuffix(" KB more memory") },
                "\(output)")
        }
    }

    @Test func `the app of places imports nothing of the store`() throws {
        let folder = Compiler.root.appendingPathComponent("Examples/Places/App")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let imports = try files.flatMap { file in
            try String(contentsOf: folder.appendingPathComponent(file), encoding: .utf8).split(separator: "\n")
                .filter { $0.hasPrefix("import ") }.map(String.init)
        }
        #expect(Set(imports) == ["import Foundation", "import GraphMapper"] && files.count > 1)
    }

    @Test func `people: a migration, upserts, a key of two properties`() throws {
        let path = try Scratch.file()
        let (status, output) = try run("People", [path])
        #expect(status == 0, "\(output)")
        for line in [
            "$0.add(\"age\", Int.self, to: \"person\"", "called hoon: 1", "updated([\"age\"])\n  unchanged\n  inserted",
            "2 people are a year older", "1 gone", "2 badges", "foreign key: badge(\"a_b\", \"c\").owner_id",
            "still 3 of 3 people",
        ] { #expect(output.contains(line), "\(line)\n\(output)") }
        for line in [
            "rows, from 1 hoon, 1 to", "shows what the query has: true", "violations: 0", "callbacks after release: 0",
            "delivered error: conversion at person(", "the token knows it: true",
        ] { #expect(output.contains(line), "\(line)\n\(output)") }
        for pattern in [#/401 commits, [1-9]\d* change sets/#, #/longest stall of the main actor: \d+\.\d ms/#] {
            #expect(output.contains(pattern), "\(output)")
        }
    }

    @Test(arguments: [["--small"], ["a.sqlite", "b.sqlite"]]) func `people: what it does not understand`(
        arguments: [String]
    ) throws {
        let (status, output) = try run("People", arguments)
        #expect(status == 2)
        #expect(output.hasPrefix("usage: People"))
    }
}
