import Foundation
import GraphMapper

/// Which files of a module use which, by the names of types, as text.
///
/// A file uses another if it names a type that the other declares at its top level, not privately, and that no third file
/// declares. Texts and comments are left out; what stands in an interpolation counts. What is used of an extension without
/// a type's name is not seen.
struct SourceGraph {
    /// A file, by its path inside the module.
    struct File {
        let path: String
        /// The code without texts and comments.
        let code: String
        /// What stands in the texts.
        let texts: [String]
        let imports: [String]
        /// The types that it declares at its top level, and those that it extends.
        fileprivate(set) var declared: Set<String> = []
        fileprivate(set) var extended: Set<String> = []

        /// The first folder of the path; empty for a file that is in none.
        var folder: String { path.contains("/") ? String(path.prefix { $0 != "/" }) : "" }

        init(path: String, text: String) {
            self.path = path
            (code, texts) = SwiftText(text).parts
            imports = code.split(separator: "\n").compactMap { line in
                let words = line.split(separator: " ")
                return words.firstIndex(of: "import").flatMap { $0 + 1 < words.count ? String(words[$0 + 1]) : nil }
            }
            for line in code.split(separator: "\n") where line.first?.isWhitespace == false { note(line) }
        }

        private mutating func note(_ line: Substring) {
            let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }
            for (word, next) in zip(words, words.dropFirst()) {
                if word == "extension" { extended.insert(String(next)) }
                guard Self.kinds.contains(word) else { continue }
                if !words.prefix(while: { $0 != word }).contains(where: Self.hidden.contains) {
                    declared.insert(String(next.prefix { $0 != "." }))
                }
                return
            }
        }

        private static let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "actor", "typealias"]
        private static let hidden: Set<Substring> = [
            "private", "fileprivate", "extension", "func", "var", "let", "import",
        ]
    }

    let files: [File]
    /// The files that each file uses, by their indices.
    let uses: [Set<Int>]

    init(_ files: [File]) {
        self.files = files
        var homes: [String: Set<Int>] = [:]
        for (index, file) in files.enumerated() {
            for name in file.declared { homes[name, default: []].insert(index) }
        }
        uses = files.indices.map { index in
            var used: Set<Int> = []
            for word in Set(files[index].code.split { !($0.isLetter || $0.isNumber || $0 == "_") }) {
                guard let home = homes[String(word)], home.count == 1, let other = home.first, other != index
                else { continue }
                used.insert(other)
            }
            return used
        }
    }

    /// All files of a module, which are read once.
    static func of(_ module: String) throws -> SourceGraph {
        try known.withLock { graphs in
            if let graph = graphs[module] { return graph }
            let graph = try SourceGraph(module: module)
            graphs[module] = graph
            return graph
        }
    }

    private static let known = Locked<[String: SourceGraph]>([:])

    private init(module: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources/\(module)"
        ).standardizedFileURL
        let paths = try FileManager.default.subpathsOfDirectory(atPath: root.path).filter { $0.hasSuffix(".swift") }
        self.init(
            try paths.sorted().map { path in
                File(path: path, text: try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8))
            })
    }

    /// Each use of one file by another.
    var arrows: [(from: File, to: File)] {
        files.indices.flatMap { from in uses[from].sorted().map { (files[from], files[$0]) } }
    }

    /// In how many files each type is extended.
    var extensionCounts: [String: Int] {
        files.reduce(into: [:]) { counts, file in for name in file.extended { counts[name, default: 0] += 1 } }
    }

    /// The files of the largest cycle of uses, by Tarjan's algorithm; a file that is in none is a cycle of its own.
    var largestCycle: [String] {
        var (numbers, lows) = ([Int?](repeating: nil, count: files.count), [Int](repeating: 0, count: files.count))
        var (stack, isOnStack) = ([Int](), Set<Int>())
        var largest: [Int] = []
        var count = 0
        func visit(_ file: Int) {
            (numbers[file], lows[file]) = (count, count)
            count += 1
            stack.append(file)
            isOnStack.insert(file)
            for other in uses[file] {
                if let number = numbers[other] {
                    if isOnStack.contains(other) { lows[file] = min(lows[file], number) }
                } else {
                    visit(other)
                    lows[file] = min(lows[file], lows[other])
                }
            }
            guard lows[file] == numbers[file] else { return }
            var cycle: [Int] = []
            repeat {
                let last = stack.removeLast()
                isOnStack.remove(last)
                cycle.append(last)
            } while cycle.last != file
            if cycle.count > largest.count { largest = cycle }
        }
        for file in files.indices where numbers[file] == nil { visit(file) }
        return largest.map { files[$0].path }.sorted()
    }
}

/// Tells the code of a Swift file from its texts and comments.
private struct SwiftText {
    private let bytes: [UInt8]
    private var index = 0
    private var code: [UInt8] = []
    private var texts: [String] = []

    init(_ text: String) { bytes = Array(text.utf8) }

    /// The code, with a blank for each text, and the texts without their interpolations.
    var parts: (code: String, texts: [String]) {
        var copy = self
        while copy.index < bytes.count { copy.readCode() }
        return (String(decoding: copy.code, as: UTF8.self), copy.texts)
    }

    private func starts(_ text: String) -> Bool { bytes[index...].starts(with: text.utf8) }

    private mutating func readCode() {
        let byte = bytes[index]
        if byte == UInt8(ascii: "/"), starts("//") {
            while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
        } else if byte == UInt8(ascii: "/"), starts("/*") {
            while index < bytes.count, !starts("*/") { index += 1 }
            index = min(index + 2, bytes.count)
        } else if byte == UInt8(ascii: "\"") {
            readText(end: starts("\"\"\"") ? "\"\"\"" : "\"")
        } else {
            code.append(byte)
            index += 1
        }
    }

    private mutating func readText(end: String) {
        index += end.utf8.count
        var text: [UInt8] = []
        code.append(UInt8(ascii: " "))
        while index < bytes.count, !starts(end) {
            if starts("\\(") {
                index += 2
                readInterpolation()
            } else if bytes[index] == UInt8(ascii: "\\") {
                text += bytes[index..<min(index + 2, bytes.count)]
                index += 2
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        index += end.utf8.count
        texts.append(String(decoding: text, as: UTF8.self))
    }

    /// Code, up to the parenthesis that ends it.
    private mutating func readInterpolation() {
        var depth = 1
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "(") { depth += 1 }
            if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
            if depth == 0 {
                code.append(UInt8(ascii: " "))
                index += 1
                return
            }
            readCode()
        }
    }
}
