/// Ways from a root of the load under way to what it has gathered, found by a walk that only an error costs.
extension Load {
    /// The shortest way to an object, such as `user(7).cart.items[3]`; nil if no root leads there.
    ///
    /// - Parameter index: the object's index in its batch.
    ///
    /// Complexity: O(objects and links gathered).
    @usableFromInline func path(to target: AnyLoadBatch, _ index: Int32) -> String? {
        let goal = LoadedObject(target, index)
        let links = all.reduce(into: [:]) { links, batch in batch.gatherLinks(into: &links) }
        var steps: [(object: LoadedObject, name: String, parent: Int?)] = []
        var seen: Set<LoadedObject> = []
        for batch in all {
            for root in 0..<batch.rootCount where seen.insert(LoadedObject(batch, root)).inserted {
                steps.append((LoadedObject(batch, root), batch.label(of: root), nil))
            }
        }
        var next = 0
        while next < steps.count {
            let object = steps[next].object
            if object == goal { return Self.text(steps.map { ($0.name, $0.parent) }, next) }
            for link in links[object] ?? [] where seen.insert(link.target).inserted {
                steps.append((link.target, link.name, next))
            }
            next += 1
        }
        return nil
    }

    private static func text(_ steps: [(name: String, parent: Int?)], _ last: Int) -> String {
        var names: [String] = []
        var next: Int? = last
        while let place = next {
            names.append(steps[place].name)
            next = steps[place].parent
        }
        names.reverse()
        // A way of a million steps helps nobody.
        if names.count > 32 { names.replaceSubrange(16..<names.count - 15, with: ["…\(names.count - 31) more…"]) }
        return names.joined(separator: ".")
    }
}

/// An object of the load under way.
struct LoadedObject: Hashable {
    let batch: Int
    let index: Int32

    init(_ batch: AnyLoadBatch, _ index: Int32) { (self.batch, self.index) = (batch.place, index) }
}

/// The links of the objects of a load, each with its name: `items[3]`.
typealias LoadedLinks = [LoadedObject: [(target: LoadedObject, name: String)]]

extension LoadBatch {
    func gatherLinks(into links: inout LoadedLinks) {
        for step in mapping.steps {
            let name = D.schema.properties.first { $0.path == step.property }?.name ?? step.modelName
            step.forEachEdge?(self, load) { owner, targets, target, place in
                let name = place.map { "\(name)[\($0)]" } ?? name
                links[LoadedObject(self, owner), default: []].append((LoadedObject(targets, target), name))
            }
        }
    }

    func label(of index: Int32) -> String { "\(D.schema.name)(\(ids[Int(index)]))" }

    /// The way to an object from a root, or else the object alone.
    func path(of index: Int32) -> String { load.path(to: self, index) ?? label(of: index) }
}

extension StepTasks {
    /// The name of the model's property, for links that no property of the DTO covers.
    var modelName: String { modelPath.map { "\($0)".split(separator: ".").last.map(String.init) ?? "\($0)" } ?? "?" }

    /// The edges of a step whose targets' ids the DTOs have.
    @usableFromInline static func forEachEdge<C: Mappable>(
        to _: C.Type, _ batch: LoadBatch<D>, _ load: Load, _ ids: (UnsafePointer<D>) -> [(place: Int?, id: C.ID)],
        _ body: (Int32, AnyLoadBatch, Int32, Int?) -> Void
    ) where C.Model: AnyObject, C.ID: Storable & Hashable, C.Row == C {
        guard let targets = load.knownBatch(C.self) else { return }
        for owner in batch.arrived {
            for (place, id) in batch.withDTO(owner, ids) {
                if let target = targets.indices[id] { body(owner, targets, target, place) }
            }
        }
    }
}
