// Declarations of the same shape as Core Data's: what `docs/other-stores.md` compiles against. They do nothing.

public protocol NSFetchRequestResult {}

open class NSEntityDescription {
    public init() {}
}

open class NSManagedObject: NSFetchRequestResult {
    public class func entity() -> NSEntityDescription { NSEntityDescription() }
    public init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {}
    public var managedObjectContext: NSManagedObjectContext? { nil }
}

open class NSFetchRequest<ResultType: NSFetchRequestResult> {
    public init(entityName: String) {}
    public var predicate: NSPredicate?
}

/// Foundation's, which has no formats on Linux.
open class NSPredicate {
    public init(format: String, argumentArray: [Any]?) {}
}

open class NSManagedObjectContext {
    public init() {}
    public func fetch<T>(_ request: NSFetchRequest<T>) throws -> [T] { [] }
    public func insert(_ object: NSManagedObject) {}
    public func delete(_ object: NSManagedObject) {}
    public func save() throws {}
    public func rollback() {}
}
