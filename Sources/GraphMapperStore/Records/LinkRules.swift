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
    static var linkRuleMistakes: [String] {
        linkRules.enumerated().compactMap { place, rule in
            guard let property = schema.property(at: rule.path), let link = property.link else {
                return "\(schema.name): the rule for \(rule.path) is for no link of the record"
            }
            let name = "\(schema.name).\(property.name)"
            if linkRules[..<place].contains(where: { $0.path == rule.path }) { return "\(name): it has two rules" }
            if link.isList, rule.cascades { return "\(name): a list lets go of what is deleted; use .nullify" }
            if !link.isList, !rule.cascades, !property.columns.allSatisfy(\.isNullable) {
                return "\(name): the link is required, and cannot become nil; make it optional, or use .cascade"
            }
            return nil
        }
    }
}

/// Something that is written to rows of a table because others are deleted.
struct LinkEffect: Hashable {
    let table: String
    let kind: ChangeRecord.Kind
    var columns: [String]?

    /// What the rules of the tables do when rows of each table are deleted, what follows from that included.
    static func all(_ tables: [TableLayout]) -> [String: [LinkEffect]] {
        var direct: [String: Set<LinkEffect>] = [:]
        for table in tables {
            for link in table.links {
                switch (link.onDelete, table.owner) {
                case (.nothing, _): continue
                case (.cascade, let owner?):
                    // Its own entries go with an owner; those of a target are a change of the list.
                    guard link.target != owner.table || link.indexName != nil else { continue }
                    direct[link.target, default: []].insert(
                        LinkEffect(table: owner.table, kind: .update, columns: [owner.property]))
                case (.cascade, nil):
                    direct[link.target, default: []].insert(LinkEffect(table: table.name, kind: .delete))
                case (.setNull, _):
                    direct[link.target, default: []].insert(
                        LinkEffect(table: table.name, kind: .update, columns: link.columns))
                }
            }
        }
        return direct.keys.reduce(into: [:]) { all, table in
            var found: Set<LinkEffect> = []
            var rest = [table]
            var seen: Set<String> = []
            while let next = rest.popLast() {
                guard seen.insert(next).inserted else { continue }
                for effect in direct[next] ?? [] {
                    found.insert(effect)
                    if effect.kind == .delete { rest.append(effect.table) }
                }
            }
            all[table] = found.sorted { ($0.table, $0.kind.rawValue) < ($1.table, $1.kind.rawValue) }
        }
    }
}
