/// What a load makes of copies of one object that differ.
public enum DuplicatePolicy: Sendable, Hashable {
    /// The conflict certificate: an error that names every value and the way to it.
    case fail
    /// The copy that comes first as one reads the DTOs: by root, then by property in the order of the schema, then by
    /// place in a list.
    case first
    /// The copy that comes last as one reads the DTOs.
    case last
}

extension Load {
    /// A load that begins anew with one copy of each object whose copies differ: it comes before all others, which are to be
    /// ignored. Nil if no copy can be chosen, as for DTOs without an id.
    func choosing<D: Mappable>(_ policy: DuplicatePolicy, among roots: [D]) -> Load?
    where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
        guard policy != .fail, hasConflict else { return nil }
        let chosen = ConflictReport.choices(roots.map { (D.self, $0) }, self, isFirst: policy == .first)
        guard !chosen.isEmpty else { return nil }
        let load = Load(core, scope, merge: merge)
        for (type, dto) in chosen { if let table = core.erasedTable(type) { load.phase(of: table).prefer(dto) } }
        return load
    }

    func ignoreCopies() { for batch in all { batch.ignoreCopies() } }
}
