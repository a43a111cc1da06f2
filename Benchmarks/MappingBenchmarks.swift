import Foundation
import GraphMapper

func checksum(_ users: [BUser]) -> Int {
    users.reduce(0) { sum, user in (user.cart?.items ?? []).reduce(sum) { $0 &+ $1.price } }
}

struct Different: Error {}

/// What a careful engineer writes by hand: one dictionary a type, capacity reserved, equal copies compared.
func mapByHand(_ dtos: [UserDTO]) throws -> [BUser] {
    var users: [UUID: (BUser, Int)] = [:]
    var carts: [UUID: BCart] = [:]
    var items: [UUID: (BItem, ItemRecord)] = [:]
    users.reserveCapacity(dtos.count)
    carts.reserveCapacity(dtos.count)
    items.reserveCapacity(dtos.count / 2)
    var result: [BUser] = []
    result.reserveCapacity(dtos.count)
    for (index, dto) in dtos.enumerated() {
        if let (user, first) = users[dto.id] {
            guard dtos[first].name == dto.name else { throw Different() }
            result.append(user)
            continue
        }
        let user = BUser(id: dto.id, name: dto.name)
        users[dto.id] = (user, index)
        result.append(user)
        guard let nested = dto.cart else { continue }
        if let cart = carts[nested.id] {
            user.cart = cart
            continue
        }
        let cart = BCart(id: nested.id)
        carts[nested.id] = cart
        user.cart = cart
        cart.items.reserveCapacity(nested.items.count)
        for copy in nested.items {
            if let (item, first) = items[copy.id] {
                guard first.name == copy.name, first.price == copy.price else { throw Different() }
                cart.items.append(item)
            } else {
                let item = BItem(id: copy.id, name: copy.name, price: copy.price)
                items[copy.id] = (item, copy)
                cart.items.append(item)
            }
        }
    }
    return result
}

func benchmarkMapping(_ harness: Harness, _ workload: Workload) async throws {
    guard harness.wants("map.nested", "map.writeback.clean", "session.find.loaded") else { return }
    let references = workload.carts.count + workload.carts.reduce(0) { $0 + $1.items.count }
    try await harness.compare("map.nested", n: references, target: 1) {
        let session = GraphSession(UserDTO.mapping, CartDTO.mapping, ItemRecord.mapping)
        return checksum(try session.map(workload.nested))
    } baseline: {
        checksum(try mapByHand(workload.nested))
    }

    let session = GraphSession(UserDTO.mapping, CartDTO.mapping, ItemRecord.mapping)
    let users = try session.map(workload.nested)
    let prices = Dictionary(uniqueKeysWithValues: workload.items.map { ($0.id, $0) })
    try await harness.compare("map.writeback.clean", n: references, target: 5) {
        try session.changes().changes.count
    } baseline: {
        var changed = 0
        var seen = Set<ObjectIdentifier>(minimumCapacity: prices.count)
        for (user, dto) in zip(users, workload.nested) {
            if user.name != dto.name || user.cart?.id != dto.cart?.id { changed += 1 }
            guard let cart = user.cart, let old = dto.cart else { continue }
            if cart.items.count != old.items.count { changed += 1 }
            for (item, copy) in zip(cart.items, old.items) {
                if item.id != copy.id { changed += 1 }
                guard seen.insert(ObjectIdentifier(item)).inserted else { continue }
                if item.name != copy.name || item.price != copy.price { changed += 1 }
            }
        }
        return changed
    }

    try await benchmarkFindLoaded(harness, session, workload)
}

/// Objects that the session has, found by their ids; by hand, in a dictionary.
private func benchmarkFindLoaded(
    _ harness: Harness, _ session: GraphSession, _ workload: Workload
) async throws {
    let ids = workload.items.map(\.id)
    let items = Dictionary(uniqueKeysWithValues: zip(ids, try session.map(workload.items)))
    try await harness.compare("session.find.loaded", n: ids.count * 10) {
        var sum = 0
        for _ in 0..<10 {
            for id in ids { sum += try await session.find(ItemRecord.self, id)?.price ?? 0 }
        }
        return sum
    } baseline: {
        var sum = 0
        for _ in 0..<10 {
            for id in ids { sum += items[id]?.price ?? 0 }
        }
        return sum
    }
}
