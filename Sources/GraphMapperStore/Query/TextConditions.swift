import Foundation

/// What text conditions work on: `String` and `String?`. NULL never matches.
public protocol TextColumn: Storable {}
extension String: TextColumn {}
extension Optional: TextColumn where Wrapped == String {}

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

extension ColumnExpression where V: TextColumn {
    /// Whether the text is the same, by the options.
    public func equals(_ text: String, _ options: TextOptions) -> Condition {
        condition(.binary(folded(options), .equal, .value(.text(options.folded(text)))))
    }

    /// Whether the text occurs, by its bytes or by the options.
    public func contains(_ text: String, _ options: TextOptions = []) -> Condition {
        condition(.call(.contains, [folded(options), .value(.text(options.folded(text)))]))
    }

    /// Whether the text starts so, by its bytes or by the options. By its bytes an index on the column serves.
    public func hasPrefix(_ text: String, _ options: TextOptions = []) -> Condition {
        let prefix = options.folded(text)
        let column = folded(options)
        let isAtLeast = Formula.binary(column, .greaterOrEqual, .value(.text(prefix)))
        guard let end = prefix.endOfPrefix else { return condition(isAtLeast) }
        return condition(.binary(isAtLeast, .and, .binary(column, .less, .value(.text(end)))))
    }

    /// Whether the text ends so, by its bytes or by the options.
    public func hasSuffix(_ text: String, _ options: TextOptions = []) -> Condition {
        let suffix = options.folded(text)
        // The engine counts from the end, where 0 means the start.
        guard !suffix.isEmpty else { return condition(.not(.isNull(formula))) }
        let start = Formula.value(.integer(-Int64(suffix.utf8.count)))
        return condition(.call(.endsWith, [folded(options), start, .value(.text(suffix))]))
    }

    /// Whether the whole text fits a pattern: `%` for any text, `_` for one Unicode scalar, `\` before one of these for
    /// itself. By its scalars, or by the options.
    public func like(_ pattern: String, _ options: TextOptions = []) -> Condition {
        condition(.call(.like, [folded(options), .value(.text(options.folded(pattern)))]))
    }

    private func folded(_ options: TextOptions) -> Formula {
        options.isEmpty ? formula : .call(.fold, [formula, .value(.integer(Int64(options.rawValue)))])
    }

    /// How many Unicode scalars the text has.
    public var scalarCount: ColumnExpression<Int> {
        ColumnExpression<Int>([.call(.scalarCount, [formula, formula, formula])], mistake)
    }
    /// The first so many Unicode scalars of the text.
    public func prefix(_ count: Int) -> ColumnExpression<V> {
        let count = Formula.value(.integer(Int64(Swift.max(0, count))))
        return ColumnExpression([.call(.start, [formula, formula, count, formula, count])], mistake)
    }
}

extension String {
    /// The least text, by its bytes, that is more than all that start with this one; nil if there is none.
    var endOfPrefix: String? {
        var scalars = Array(unicodeScalars)
        while let last = scalars.popLast() {
            // Surrogates are no scalars, and come before the last ones by their bytes.
            let next = last.value == 0xD7FF ? 0xE000 : last.value + 1
            guard let scalar = Unicode.Scalar(next) else { continue }
            scalars.append(scalar)
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars)
            return String(text)
        }
        return nil
    }
}

/// Patterns of `%`, `_` and `\`.
enum TextPattern {
    /// Whether the whole text fits. Complexity: O(pattern · text) at worst.
    static func fits(_ text: String, _ pattern: String) -> Bool {
        let text = Array(text.unicodeScalars)
        let pattern = pieces(pattern)
        var (place, piece) = (0, 0)
        // Where the last `%` stands, and how far it has taken so far.
        var retry: (piece: Int, place: Int)?
        while place < text.count {
            switch piece < pattern.count ? pattern[piece] : nil {
            case .any:
                retry = (piece, place)
                piece += 1
                continue
            case .one:
                (place, piece) = (place + 1, piece + 1)
                continue
            case .scalar(text[place]):
                (place, piece) = (place + 1, piece + 1)
                continue
            default: break
            }
            guard let (last, taken) = retry else { return false }
            retry = (last, taken + 1)
            (place, piece) = (taken + 1, last + 1)
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
