/// Something that is written to rows of a table because others are deleted.
struct LinkEffect: Hashable {
    let table: String
    let kind: WriteKind
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
