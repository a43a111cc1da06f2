/// What payloads leave open, while a load gathers.
extension LoadBatch {
    /// Adds to a DTO of the load what a copy of it says and it does not.
    func fill(_ index: Int, from copy: D) {
        guard let known = incoming[index] else { return }
        do { incoming[index] = try filled(known, from: copy, isLater: false) } catch {
            provenance.filling = provenance.filling ?? error
        }
    }

    /// A DTO with what another one of the same object says and it does not.
    private func filled(_ dto: D, from other: D, isLater: Bool) throws -> D {
        var added: [Int: Any] = [:]
        for (place, entry) in mapping.entries.enumerated() {
            guard let entry, let gap = mapping.steps[entry].gap else { continue }
            if let value = try gap.filled(dto, other, isLater) { added[place] = value }
        }
        guard !added.isEmpty else { return dto }
        return try D.schema.make { added[$0] ?? dto[keyPath: D.schema.properties[$0].path] }
    }

    /// Makes DTOs that say also what those of earlier loads have said. The models take only what the new ones say.
    func fillFromEarlier() throws {
        guard mapping.hasGaps else { return }
        if let filling = provenance.filling { throw filling }
        for index in arrived {
            guard let dto = incoming[Int(index)], let old = identity.slot(ids[Int(index)]).flatMap(entities.snapshot)
            else {
                continue
            }
            provenance.gapless[Int(index)] = try filled(dto, from: old, isLater: true)
        }
    }

    func takeGapless() {
        for (index, dto) in provenance.gapless { incoming[index] = dto }
    }

    /// Notes what the models have in fields that the DTOs of the load leave open, when everything is linked.
    func noteGaps() {
        guard mapping.hasGaps else { return }
        let gaps = mapping.steps.compactMap { step in step.gap.flatMap { $0.undo == nil ? nil : (step, $0) } }
        for index in arrived {
            let slot = Int(slots[Int(index)])
            guard let dto = incoming[Int(index)], let model = model(at: slot) else { continue }
            for (step, gap) in gaps {
                guard let path = step.property else { continue }
                // Of a value that does not encode nothing is noted: it counts as changed, and a save says what is wrong.
                if !withUnsafePointer(to: dto, gap.isOpen) {
                    entities.baselines[path]?[slot] = nil
                } else if entities.baselines[path]?[slot] == nil, let now = try? step.value(of: model, nil, core) {
                    entities.noteBaseline(path, slot, now)
                }
            }
        }
    }
}
