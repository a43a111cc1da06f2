/// A new object that is to have a key of the database's.
struct UnkeyedObject {
    let table: any ErasedTable
    let object: AnyObject
}

/// How a save gets new objects their keys: in its transaction, before it plans what it writes.
extension SessionCore {
    /// The plan of a save in its transaction, when all objects have keys.
    func plan(_ scope: SaveScope, in sink: any ChangeSink) async throws -> WritePlan {
        let plan = try plan(scope)
        guard !plan.unkeyed.isEmpty else { return plan }
        for table in order {
            let objects = plan.unkeyed.filter { $0.table === table }.map(\.object)
            guard !objects.isEmpty, let column = table.rules?.key.first else { continue }
            let numbers = try await sink.newKeys(
                objects.count, of: table.name, column: column, after: plan.keyed[table.name] ?? 0)
            guard numbers.count == objects.count else {
                throw GraphError(
                    .misuse, "the backing gave \(numbers.count) keys, not \(objects.count)", type: table.name)
            }
            keyed += objects.map { UnkeyedObject(table: table, object: $0) }
            for (object, number) in zip(objects, numbers) { try table.give(number, to: object) }
        }
        return try self.plan(scope)
    }

    /// Takes back the keys of a save that has failed.
    func takeKeysBack() {
        for new in keyed { new.table.takeKeyBack(from: new.object) }
        keyed = []
    }
}

extension EntityTable {
    /// Notes whether a new object is to have a key of the database's.
    func noteKey(of model: D.Model, in plan: inout WritePlan) {
        guard let keys else { return }
        if keys.isNeeded(model) {
            plan.unkeyed.append(UnkeyedObject(table: self, object: model))
        } else {
            plan.keyed[name] = max(plan.keyed[name] ?? 0, keys.number(model))
        }
    }

    func giveKey(_ number: Int64, _ object: AnyObject) throws {
        if let model = object as? D.Model { try keys?.give(model, number) }
    }

    func takeBackKey(_ object: AnyObject) { if let model = object as? D.Model { keys?.takeBack(model) } }

    /// What takes back the keys of objects that were saved since.
    func rememberKeys() -> () -> Void {
        guard keys != nil else { return {} }
        let stored = Set(
            snapshots.indices.compactMap { !snapshots.has($0) ? nil : identity.models[$0].map(ObjectIdentifier.init) }
        )
        return { [self] in
            for case let object? in identity.models where !stored.contains(ObjectIdentifier(object)) {
                takeBackKey(object)
            }
        }
    }
}
