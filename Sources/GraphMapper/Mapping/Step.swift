/// What a session does with an entry of a mapping.
public struct Step<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// Holds the tasks, which take a kilobyte: an app's module would have code to copy them for each record.
    private indirect enum Box {
        case tasks(StepTasks<D>)
    }

    private var box: Box
    var tasks: StepTasks<D> {
        get {
            switch box {
            case .tasks(let tasks): tasks
            }
        }
        set { box = .tasks(newValue) }
    }

    @usableFromInline init(_ tasks: StepTasks<D>) { box = .tasks(tasks) }
}

/// What an entry of a mapping does, one closure a task. Entries form the closures where the types are known.
///
/// The closures of the loops take DTOs by pointer: as values they would be copied at every call, since a closure in a
/// generic struct is called through a thunk.
@usableFromInline struct StepTasks<D: Mappable> where D.Model: AnyObject, D.ID: Storable & Hashable, D.Row == D {
    /// The DTO's property that the step covers; nil for links that the other side's foreign key holds.
    @usableFromInline var property: AnyKeyPath?
    /// The model's id, for the step that covers `id`.
    @usableFromInline var idOf: ((AnyObject) -> D.ID)?
    /// Whether the model's property cannot be set.
    @usableFromInline var isUnread = false
    /// Throws if the DTO's value cannot be converted. Run before any model is touched.
    @usableFromInline var check: ((UnsafePointer<D>) throws -> Void)?
    /// Whether two DTOs store the same here; nil for nested DTOs, which their own table compares.
    @usableFromInline var isSame: ((UnsafePointer<D>, UnsafePointer<D>) -> Bool)?
    /// Sets the model's property from the DTO.
    @usableFromInline var read: ((UnsafePointer<D>, D.Model) throws -> Void)?
    /// Whether the model's property still stores what the snapshot has.
    @usableFromInline var isClean: (UnsafePointer<D>, D.Model, SessionCore) throws -> Bool = { _, _, _ in true }
    /// Puts the property's value for a DTO made of the model, in the property's type.
    @usableFromInline var answer: ((D.Model, UnsafePointer<D>?, SessionCore, Answers) throws -> Void)?

    /// Appends the stored values of the DTO's property; nil where the schema's way is as good.
    @usableFromInline var encode: ((UnsafePointer<D>, inout [StoredValue]) -> Void)?

    /// What the step links to, for validation.
    @usableFromInline var targets: [any DTO.Type] = []
    /// Asks for, or offers, what the DTOs that came as `range` link to, and notes the edges.
    @usableFromInline var gather: ((LoadBatch<D>, Range<Int>, Int, Load) throws -> Void)?
    /// Sets the models' links; all models exist.
    @usableFromInline var link: ((LoadBatch<D>, Int, Load) throws -> Void)?
    /// Sets the links of DTOs from that place on, which the load does not follow, to what the session has anyway.
    @usableFromInline var linkKnown: ((LoadBatch<D>, Int, Load) throws -> Void)?
    /// Tells the session of the models that this one links to, on the way back.
    @usableFromInline var visit: ((AnyObject, Int, SessionCore) throws -> Void)?
    /// Whether the model's link is nil or empty, which means "unknown" in a link that was never filled.
    @usableFromInline var isEmpty: ((D.Model) -> Bool)?
    /// Offers the nested DTOs of copies of what the load has already.
    @usableFromInline var offerNested: (([D], Load) throws -> Void)?
    /// Takes from the link all targets, or those that are deleted.
    @usableFromInline var drop: ((D.Model, SessionCore, Bool) -> Void)?
    /// The links of the load under way: the owner's index, the target's table and index, and its place in a list. For the
    /// walk that an error costs.
    @usableFromInline var forEachEdge: ((LoadBatch<D>, Load, (Int32, AnyLoadBatch, Int32, Int?) -> Void) -> Void)?
    /// The nested DTOs, each with its place: for the walk that a conflict costs.
    @usableFromInline var nested: ((D, (any DTO.Type, Any, String) -> Void) -> Void)?
    /// The models whose DTOs the model's DTO holds, each with its table.
    @usableFromInline var nestedModels: ((D.Model, SessionCore, (TableState, AnyObject) -> Void) throws -> Void)?
    /// The same for the objects of the load under way: the targets of the object with this token.
    @usableFromInline var linked: ((LoadBatch<D>, Int32, Load, (any DTO.Type, Any, String) -> Void) -> Void)?
    /// The model's property: a load is told by it to follow an on-demand link, and the DTO types of one model know by it
    /// that they speak of the same.
    @usableFromInline var modelPath: AnyKeyPath?
    @usableFromInline var isOnDemand = false
    /// The other side's foreign key, for links that it holds.
    @usableFromInline var inverse: AnyKeyPath?
    /// Whether the model's initializer needs the link, which then is always followed.
    var isNeeded = false

    // Off the loops: what saves, roll-backs and late loads ask for.

    /// The step's bit in ``EntityTable/filled``; links alone have one.
    @usableFromInline var bit: UInt64 = 0
    /// Whether the link is written as a whole, so that what it holds must be all that is stored.
    @usableFromInline var isWhole = false
    /// Introduces the step to the other tables of its session.
    @usableFromInline var attach: ((SessionCore) -> Void)?
    /// Makes the model's link as in the DTO; false if a target is not in the session.
    @usableFromInline var restore: ((D, D.Model, SessionCore) -> Bool)?
    /// The same for links that the other side's foreign key holds, for the models of these slots.
    @usableFromInline var restoreHeld: ((EntityTable<D>, [Int], SessionCore) -> Void)?
    /// Takes from a link what the app has put there, and answers what puts it back in addition to what is loaded.
    @usableFromInline var setAside: ((D.Model, Int, SessionCore) -> () -> Void)?
    /// What makes a back-reference agree with the DTO that is about to be written, once it is.
    @usableFromInline var settle: ((D, D.Model, SessionCore) -> () -> Void)?
    /// What makes back-references, and the links of the owners, say what the edited side says.
    @usableFromInline var relink: ((EntityTable<D>, SessionCore) throws -> [() -> Void])?
    /// What happens to the link's targets when the object is deleted.
    var rule = DeleteRule.nullify
    /// What the model's link leads to.
    @usableFromInline var objects: ((D.Model) -> [AnyObject])?
    /// Makes the model's link lead to these objects, which are of the targets' class.
    @usableFromInline var assign: ((D.Model, [AnyObject]) -> Void)?
    /// Whether the link may lead to more than one object.
    @usableFromInline var isMany = false
    /// Whether the order of what it leads to means nothing.
    var isSet = false
    /// What the links of the table have led to and no longer do, each with its owner. It is given ``bit``.
    @usableFromInline var letGo: ((EntityTable<D>, SessionCore, UInt64) -> [(AnyObject, AnyObject)])?
    /// What a list of the slot's object held when it was last filled or saved.
    @usableFromInline var before: ((EntityTable<D>, Int, SessionCore) -> [AnyObject])?
    /// Whom a back-reference names.
    @usableFromInline var named: ((D.Model) -> AnyObject?)?
    /// The order of what a link leads to that the other side's foreign key holds, a ``ChildOrder``.
    @usableFromInline var childOrder: AnyObject?
    /// Gives the objects of ordered links positions, while a save is planned.
    var placeChildren: ((EntityTable<D>, SessionCore) throws -> Void)?
    /// Whether the property counts the updates of its row.
    @usableFromInline var isVersion = false
    /// What gives objects their ids, if the database does.
    var keys: KeyGiver<D.Model>?
    /// What keeps the link as it is now: what it answers puts that back.
    @usableFromInline var freeze: ((D.Model) -> () -> Void)?
    /// What is wrong with the entry, in a sentence.
    @usableFromInline var diagnostic: String?
    /// For properties of which a DTO may leave something open.
    @usableFromInline var gap: Gap<D>?
    @usableFromInline init() {}

    /// The property's value for a DTO made of the model; nil if the step has no way back.
    func value(of model: D.Model, _ snapshot: D?, _ core: SessionCore) throws -> Any? {
        guard let answer else { return nil }
        let answers = Answers()
        if let snapshot {
            try withUnsafePointer(to: snapshot) { try answer(model, $0, core, answers) }
        } else {
            try answer(model, nil, core, answers)
        }
        return try answers.takeBoxed("a property")
    }
}

extension UnsafePointer {
    /// The property at `path`. A stored one of a struct is read where it lies: through a key path the whole struct would
    /// be copied, and all that it refers to be retained. Of a literal the compiler folds all this into one load.
    @inlinable @inline(__always)
    func value<V>(at path: KeyPath<Pointee, V>) -> V { pointer(to: path)?.pointee ?? pointee[keyPath: path] }
}
