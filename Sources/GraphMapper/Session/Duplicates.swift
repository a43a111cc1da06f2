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

extension SessionCore {
    /// Begins the load anew with one copy of each object whose copies differ: it comes before all others, which are
    /// ignored.
    ///
    /// - Returns: false if no copy can be chosen, as for DTOs without an id.
    func choose(_ policy: DuplicatePolicy, among roots: [(any DTO.Type, Any)]) -> Bool {
        let chosen = Certificate.choices(roots, self, isFirst: policy == .first)
        guard !chosen.isEmpty else { return false }
        for table in order { table.startLoad() }
        for (type, dto) in chosen { tables[TypeKey(type)]?.prefer(dto) }
        return true
    }

    func ignoreCopies() { for table in order { table.ignoreCopies() } }
}
