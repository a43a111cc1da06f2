/// What models had in properties of which the DTOs that came leave something open. What differs from it has changed
/// since.
extension EntityTable {
    /// Notes what a property has now.
    @usableFromInline func noteBaseline(_ path: AnyKeyPath, _ slot: Int, _ value: Any) {
        baselines[path, default: [:]][slot] = value
    }

    /// Whether the property has what it had when the DTO came that leaves it open.
    @usableFromInline
    func isBaseline<V: Storable>(_ path: AnyKeyPath, _ object: D.Model, _ now: V) -> Bool {
        guard let slot = knownSlot(of: object), let old = baselines[path]?[slot] as? V else { return false }
        return V.isSame(old, now)
    }

    /// What a link has when nothing is noted is not known to have changed.
    @usableFromInline
    func isBaseline<ID: Equatable>(_ path: AnyKeyPath, _ object: D.Model, ids now: [ID]) -> Bool {
        guard let slot = knownSlot(of: object), let old = baselines[path]?[slot] as? [ID] else { return true }
        return old == now
    }

    func forgetBaselines(_ slot: Int) {
        for path in baselines.keys { baselines[path]?[slot] = nil }
        for path in elsewhere.keys { elsewhere[path]?.remove(slot) }
    }
}
