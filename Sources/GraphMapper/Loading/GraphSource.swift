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

/// A source that answers at once, such as an open transaction of an embedded database: a session loads from it
/// without suspending.
public protocol ImmediateSource: GraphSource {
    /// The DTOs with these ids, in any order; ids that are not there are left out.
    func fetchNow<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) throws -> [D] where D.ID: Storable & Hashable
    /// The DTOs whose property `name`, a foreign key, is one of `owners`.
    func fetchNow<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) throws -> [D] where D.ID: Storable & Hashable
}

extension ImmediateSource {
    public func fetch<D: DTO & Identifiable>(_ type: D.Type, ids: [D.ID]) async throws -> [D]
    where D.ID: Storable & Hashable { try fetchNow(type, ids: ids) }

    public func fetch<D: DTO & Identifiable, Owner: Storable & Hashable>(
        _ type: D.Type, where name: String, isIn owners: [Owner]
    ) async throws -> [D] where D.ID: Storable & Hashable { try fetchNow(type, where: name, isIn: owners) }
}
