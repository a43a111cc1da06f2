import Foundation

/// What becomes of a record when a row that it links to is deleted, by whomever: a session, a transaction, or another
/// program. The engine keeps the rule.
///
/// Without a rule a row that something links to cannot be deleted: that is an error at commit. What a session does
/// besides, its mappings say: ``DeleteRule``.
public struct LinkRule<R>: Sendable {
    let path: any PartialKeyPath<R> & Sendable
    let cascades: Bool

    /// It lets go: an optional link becomes nil, an entry of a list or a set goes.
    public static func nullify(_ path: any PartialKeyPath<R> & Sendable) -> Self { Self(path: path, cascades: false) }
    /// It is deleted, too, and what follows from that. Not for lists and sets.
    public static func cascade(_ path: any PartialKeyPath<R> & Sendable) -> Self { Self(path: path, cascades: true) }
}

extension StoredRecord {
    public static var linkRules: [LinkRule<Self>] { [] }

    static func linkRule(at path: AnyKeyPath) -> LinkRule<Self>? { linkRules.first { $0.path == path } }

    /// What is wrong with the rules, in sentences.
    static var linkRuleDiagnostics: [String] {
        linkRules.enumerated().compactMap { index, rule in
            guard let property = schema.property(at: rule.path), let link = property.link else {
                return "\(schema.name): the rule for \(rule.path) is for no link of the record"
            }
            let name = "\(schema.name).\(property.name)"
            if linkRules[..<index].contains(where: { $0.path == rule.path }) { return "\(name): it has two rules" }
            if link.isList, rule.cascades { return "\(name): a list lets go of what is deleted; use .nullify" }
            if !link.isList, !rule.cascades, !property.columns.allSatisfy(\.isNullable) {
                return "\(name): the link is required, and cannot become nil; make it optional, or use .cascade"
            }
            return nil
        }
    }
}
