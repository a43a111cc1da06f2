/// What a load asks of the batch of one DTO type, whatever the type.
protocol LoadPhase: AnyLoadBatch {
    var name: String { get }
    var recordType: ObjectIdentifier { get }
    var table: any ErasedTable { get }

    // Gathering.
    var hasUnexpanded: Bool { get }
    var hasRequests: Bool { get }
    /// Whether copies of one object differ.
    var hasConflict: Bool { get }
    var hasArrived: Bool { get }
    /// The ids that the load has come to, a `ContiguousArray`.
    var namedIDs: Any { get }
    /// The ids of the DTOs that have come, a `ContiguousArray`.
    var arrivedIDs: Any { get }
    /// Lets the load take an object for that of a DTO, if it has one of its id.
    func adopt(_ object: AnyObject)
    /// Takes this copy of an object before all others.
    func prefer(_ dto: Any)
    /// Lets copies that differ from the first be.
    func ignoreCopies()
    /// What has come until now is followed next, and what comes later is of the next level.
    func endLevel(_ level: Int)
    /// What has been asked for until now is what the load starts from.
    func noteRoots()
    /// Follows the links of what has come and is not followed.
    func expand() throws
    func fetch(from source: any GraphSource) async throws
    func fetch(from source: any ImmediateSource) throws
    /// Fetches the DTOs of these ids, whichever are there.
    func fetch(_ ids: Any, from source: any GraphSource) async throws
    /// Asks again for everything that the session holds.
    func wantAll()
    func want(_ model: AnyObject) throws
    func want(key: [StoredValue]) throws
    /// Asks for the row of this key, whether the session holds its object or not.
    func want(storedKey key: [StoredValue]) throws
    /// Asks for the DTOs whose foreign key is one of `owners`.
    func wantHeld<Owner: Storable & Hashable>(by foreignKey: AnyKeyPath, _ owners: [Owner]) throws
    func want(slot: Int)
    /// Throws if anything is asked for that the session does not have.
    func requireLoaded() throws
    /// The links to a type, each with how many objects it named; nil for one that the other side holds.
    func links(to target: ObjectIdentifier) -> [(name: String, count: Int?)]

    // Where things are, for errors.
    /// The first indices of a load are those of its roots.
    var rootCount: Int32 { get }
    func label(of index: Int32) -> String
    func gatherLinks(into links: inout LoadedLinks)
    func visitNested(_ dto: Any, _ visit: (any DTO.Type, Any, String) -> Void)
    /// What is the same for all accessors of an object; nil for values.
    func identity(of dto: Any) -> ObjectIdentifier?
    func nameOf(_ dto: Any) -> String?
    func describe(_ dto: Any) -> DTODescription?

    // Materialising.
    /// Throws, before any model is touched, if a DTO cannot become one.
    func checkGathered() throws
    /// Throws if another writer has changed what a model keeps in a `let`.
    func checkFixedProperties() throws
    var hasUnmade: Bool { get }
    /// The last level of which the batch has anything.
    var lastLevel: Int { get }
    /// Makes models as far as what they need is there, those of later levels not yet; true if any was made.
    func makeModels(through level: Int) throws -> Bool
    /// Forgets the models that the load has made.
    func unmake()
    func needsCycle() -> GraphError
    /// What the initializer of the object with this id waits for.
    func need(of id: String) -> NotYet?
    /// Asks what becomes of values that both the app and another writer have changed.
    func resolveEdits() throws
    func readFields() throws
    func linkModels() throws
    /// Moves objects that another writer has given to other owners between these owners' links.
    func moveReassigned()
    /// Whether the link of an entry keeps what the model has, which is noted.
    func keepsLink(_ entry: Int, _ slot: Int, _ model: AnyObject) -> Bool
    /// Puts the links of the owners of what was read into their order.
    func sortOwners()
    /// Gives back-references that lead to evicted objects those that were made in their place.
    func followReloaded()
    /// Lets the DTOs of the load become the snapshots.
    func finish() throws
    /// Tells the payloads of the models what they have by now.
    func tellPayloads()
    var hasVanishing: Bool { get }
    /// The models that the load has come to.
    var models: [AnyObject] { get }
    /// Undoes what the app has done to the objects that the load has read.
    func rollBack() throws
}
