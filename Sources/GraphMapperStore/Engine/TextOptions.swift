import Foundation

/// How texts are compared in a condition. Without options, by their bytes.
public struct TextOptions: OptionSet, Sendable, Hashable {
    public let rawValue: Int
    /// Options of these bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Capitals are as small letters, of all alphabets: `É` as `é`, `ẞ` as `ß`.
    public static let caseInsensitive = TextOptions(rawValue: 1)
    /// Accents do not count: `é` as `e`.
    public static let diacriticInsensitive = TextOptions(rawValue: 2)

    /// The text as it is compared. Different spellings of a letter, composed or not, are one if there are options.
    func folded(_ text: String) -> String {
        var options: String.CompareOptions = []
        if contains(.caseInsensitive) { options.insert(.caseInsensitive) }
        if contains(.diacriticInsensitive) { options.insert(.diacriticInsensitive) }
        guard !options.isEmpty else { return text }
        return text.folding(options: options, locale: nil).precomposedStringWithCanonicalMapping
    }
}

extension String {
    /// The spelling in which texts that are equal in Swift are the same by their bytes.
    var canonical: String { utf8.allSatisfy { $0 < 128 } ? self : precomposedStringWithCanonicalMapping }

    /// Whether only texts of the same bytes are equal to it in Swift. Of ASCII, only three characters have another
    /// spelling: the signs for kelvin, the Greek question mark and the Greek varia.
    var hasOneSpelling: Bool { utf8.allSatisfy { $0 < 128 && !"K;`".utf8.contains($0) } }

    /// The other spellings of a text of ASCII, if they are few.
    var spellings: [String]? {
        guard utf8.allSatisfy({ $0 < 128 }) else { return nil }
        let others: [Character: [Character]] = [
            "K": ["K", "\u{212A}"], ";": [";", "\u{37E}"], "`": ["`", "\u{1FEF}"],
        ]
        var found = [""]
        for character in self {
            found = found.flatMap { start in (others[character] ?? [character]).map { start + String($0) } }
            if found.count > 16 { return nil }
        }
        return found
    }
}

/// Patterns of `%`, `_` and `\`.
enum TextPattern {
    /// Whether the whole text fits. Complexity: O(pattern · text) at worst.
    static func fits(_ text: String, _ pattern: String) -> Bool {
        let text = Array(text.unicodeScalars)
        let pattern = pieces(pattern)
        var (index, piece) = (0, 0)
        // Where the last `%` stands, and how far it has taken so far.
        var retry: (piece: Int, index: Int)?
        while index < text.count {
            switch piece < pattern.count ? pattern[piece] : nil {
            case .any:
                retry = (piece, index)
                piece += 1
                continue
            case .one:
                (index, piece) = (index + 1, piece + 1)
                continue
            case .scalar(text[index]):
                (index, piece) = (index + 1, piece + 1)
                continue
            default: break
            }
            guard let (last, taken) = retry else { return false }
            retry = (last, taken + 1)
            (index, piece) = (taken + 1, last + 1)
        }
        return pattern[piece...].allSatisfy { $0 == .any }
    }

    private enum Piece: Equatable {
        case any, one
        case scalar(Unicode.Scalar)
    }

    private static func pieces(_ pattern: String) -> [Piece] {
        var pieces: [Piece] = []
        var rest = pattern.unicodeScalars[...]
        while let scalar = rest.popFirst() {
            switch scalar {
            case "%": pieces.append(.any)
            case "_": pieces.append(.one)
            case "\\": pieces.append(.scalar(rest.popFirst() ?? scalar))
            default: pieces.append(.scalar(scalar))
            }
        }
        return pieces
    }
}
