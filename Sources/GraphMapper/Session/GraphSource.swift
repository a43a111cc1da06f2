/// Where a session gets its DTOs from. All requests of one load are answered from one snapshot.
public protocol GraphSource {
    /// The DTOs with these ids, in any order; ids that are not there are left out.
    func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D]
    where D.ID: Storable & Hashable
    /// The DTOs whose property `name`, a foreign key, is one of `owners`.
    func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable
}
