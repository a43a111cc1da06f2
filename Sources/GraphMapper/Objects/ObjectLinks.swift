#if canImport(ObjectiveC)
    import ObjectiveC
#endif

/// Links from a class to another, by reference.
extension One where D: AnyObject, C: AnyObject {
    /// To one object.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, C?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .objectLink(
                from(), to(), get: { $0.pointee[keyPath: from()] }, model: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }))
    }

    /// The other side links to this one.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by link: @autoclosure @escaping () -> KeyPath<C, D?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        self.init(
            .byKey(
                link(), to(), key: { (child: UnsafePointer<C>) in child.pointee[keyPath: link()]?.id },
                get: { $0[keyPath: to()].map { [$0] } ?? [] }, set: { $0[keyPath: to()] = $1.first }, isList: false))
    }
}

extension Many where D: AnyObject, C: AnyObject {
    /// To the objects of an array.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, [C]>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        self.init(
            .objectLinks(
                C.self, from(), to(), get: { $0.pointee[keyPath: from()] }, models: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }))
    }

    /// To the objects of any random-access collection, such as a database's list: `Many(Item.self, in: \.items, \.items)`.
    @inlinable @inline(__always)
    public init<List: RandomAccessCollection>(
        _ other: C.Type, in from: @autoclosure @escaping () -> KeyPath<D, List>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) where List.Element == C {
        self.init(
            .objectLinks(
                C.self, from(), to(), get: { $0.pointee[keyPath: from()] }, models: { $0[keyPath: to()] },
                set: { $0[keyPath: to()] = $1 }))
    }

    /// The other side links to this one.
    @inlinable @inline(__always)
    public init(
        _ other: C.Type, by link: @autoclosure @escaping () -> KeyPath<C, D?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, [C.Model]>
    ) {
        self.init(
            .byKey(
                link(), to(), key: { (child: UnsafePointer<C>) in child.pointee[keyPath: link()]?.id },
                get: { $0[keyPath: to()] }, set: { $0[keyPath: to()] = $1 }, isList: true))
    }
}

extension Back where D: AnyObject, C: AnyObject {
    /// To an object that leads here.
    @inlinable @inline(__always)
    public init(
        _ from: @autoclosure @escaping () -> KeyPath<D, C?>,
        _ to: @autoclosure @escaping () -> ReferenceWritableKeyPath<D.Model, C.Model?>
    ) {
        var step: StepTasks<D> = .back(
            from(), to(), get: { $0.pointee[keyPath: from()].map { Ref<C>($0.id) } }, model: { $0[keyPath: to()] },
            set: { $0[keyPath: to()] = $1 }, answer: { $0 })
        let link = StepTasks<D>.place(of: from())
        let answer = step.answer
        step.answer = { object, snapshot, core, answers in
            let place = answers.end
            try answer?(object, snapshot, core, answers)
            let ref: Ref<C>? = try answers.takeBack(place)
            answers.put(try ref.flatMap { try core.table(C.self).target($0) })
        }
        step.gather = { batch, range, _, load in
            guard let pool = batch.pool, let targets = pool.target(C.self, link) else { return }
            let others = try load.batch(C.self)
            for place in range {
                let token = pool.token(at: Int(batch.arrived[place]))
                for edge in pool.range(link, token) {
                    let target = pool.links[link].tokens[edge]
                    if others.entities.model(targets.ids[Int(target)]) == nil { others.offer(target, targets) }
                }
            }
        }
        step.nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            if let target = object[keyPath: to()], !targets.isDeleted(target) { visit(targets, target) }
        }
        step.follow(link, C.self, isList: false)
        step.attach = { core in StepTasks<D>.keepStubs(from(), C.self, core) }
        self.init(step)
    }
}

extension EntityTable where D: AnyObject {
    /// The object that stands for the target of a link by key.
    @usableFromInline func target(_ ref: Ref<D>) throws -> D? {
        if let model = model(ref.id) { return try target(model) }
        return stubs?.stub(of: ref.id)
    }
}

extension StepTasks where D: AnyObject {
    /// The place of a link among the schema's object links.
    @usableFromInline static func place(of path: AnyKeyPath) -> Int {
        D.schema.properties.filter(\.isObjectLink).firstIndex { $0.path == path } ?? -1
    }

    @usableFromInline static func name(of link: Int) -> String {
        let links = D.schema.properties.filter(\.isObjectLink)
        return links.indices.contains(link) ? links[link].name : "?"
    }

    /// Finds out whether a link holds its target. If it is weak or unowned, something else has to.
    @usableFromInline static func keepStubs<C: ObjectDTO>(_ path: AnyKeyPath, _: C.Type, _ core: SessionCore)
    where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        // A type of id of which nobody can make one has no stand-ins.
        guard let path = path as? ReferenceWritableKeyPath<D, C?>,
            let stubs = core.knownTable(D.self)?.stubs, let targets = core.knownTable(C.self)?.stubs,
            let id = try? D.ID.probe(1), let targetID = try? C.ID.probe(1)
        else { return }
        let object = stubs.access.stub(id)
        weak var target: C?
        func link() {
            let new = targets.access.stub(targetID)
            object[keyPath: path] = new
            target = new
        }
        #if canImport(ObjectiveC)
            autoreleasepool { link() }
        #else
            link()
        #endif
        withExtendedLifetime(object) { if target == nil { targets.isKeeping = true } }
    }

    /// A link to one object.
    @inlinable @inline(__always)
    static func objectLink<C: ObjectDTO>(
        _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> C?,
        model: @escaping (D.Model) -> C.Model?, set: @escaping (D.Model, C.Model?) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        var step: StepTasks<D> = .toOne(C.self, from, to, id: { get($0)?.id }, model: model, set: set)
        step.isSame = { areSame(get($0)?.id, get($1)?.id) }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            let target = model(object).flatMap { targets.isDeleted($0) ? nil : $0 }
            answers.put(try target.map { try targets.target($0) })
        }
        step.nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            if let target = model(object), !targets.isDeleted(target) { visit(targets, target) }
        }
        step.follow(place(of: from), C.self, isList: false)
        step.attach = { core in keepStubs(from, C.self, core) }
        return step
    }

    /// A link to many objects.
    @inlinable @inline(__always)
    static func objectLinks<C: ObjectDTO, List: RandomAccessCollection>(
        _: C.Type, _ from: AnyKeyPath, _ to: AnyKeyPath, get: @escaping (UnsafePointer<D>) -> List,
        models: @escaping (D.Model) -> [C.Model], set: @escaping (D.Model, [C.Model]) -> Void
    ) -> StepTasks<D> where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C, List.Element == C {
        var step: StepTasks<D> = .toMany(
            C.self, from, to, count: { get($0).count }, models: models, set: set,
            haveIDs: { dto, isID in
                for (index, target) in get(dto).enumerated() where !isID(index, target.id) { return false }
                return true
            })
        step.isSame = { left, right in get(left).elementsEqual(get(right)) { areSame($0.id, $1.id) } }
        step.answer = { object, _, core, answers in
            let targets = try core.table(C.self)
            answers.put(try models(object).filter { !targets.isDeleted($0) }.map { try targets.target($0) })
        }
        step.nestedModels = { object, core, visit in
            let targets = try core.table(C.self)
            for target in models(object) where !targets.isDeleted(target) { visit(targets, target) }
        }
        step.follow(place(of: from), C.self, isList: true)
        return step
    }

    /// Follows a link through the objects that the load has met.
    @inlinable @inline(__always)
    mutating func follow<C: ObjectDTO>(_ link: Int, _: C.Type, isList: Bool)
    where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        if gather == nil {
            gather = { batch, range, step, load in
                guard let pool = batch.pool, let targets = pool.target(C.self, link) else { return }
                let others = try load.batch(C.self)
                var edges: ContiguousArray<Int32> = []
                swap(&edges, &batch.edges[step])
                defer { swap(&edges, &batch.edges[step]) }
                for place in range {
                    let token = pool.token(at: Int(batch.arrived[place]))
                    // A type that links to itself adds to the list while it is followed.
                    for edge in pool.range(link, token) {
                        edges.append(others.offer(pool.links[link].tokens[edge], targets))
                    }
                }
            }
        }
        offerNested = { copies, load in
            guard let pool = try load.batch(D.self).pool, let targets = pool.target(C.self, link) else { return }
            let others = try load.batch(C.self)
            for copy in copies {
                guard let token = pool.repeated[ObjectIdentifier(copy)] else { continue }
                for edge in pool.range(link, token) { others.offer(pool.links[link].tokens[edge], targets) }
            }
            try targets.checkLimit()
        }
        linked = { batch, token, load, visit in
            guard let pool = batch.pool, let targets = pool.target(C.self, link) else { return }
            let name = StepTasks<D>.name(of: link)
            for (place, edge) in pool.range(link, token).enumerated() {
                let target = pool.links[link].tokens[edge]
                visit(C.self, targets.objects[Int(target)], isList ? "\(name)[\(place)]" : name)
            }
        }
    }
}

extension ObjectPool {
    /// Copies of copies have no end if each read makes a new one.
    @usableFromInline func checkLimit() throws {
        guard objects.count > load.core.limit else { return }
        throw GraphError(
            .tooLarge,
            "the load met \(objects.count) copies of \(live.count + tokens.count) objects, more than its limit; if each "
                + "read makes a new object, say isLive: in the schema", type: D.schema.name)
    }
}
