import Foundation
import GraphMapper

/// An item of a payload that may leave out everything but the id.
struct ItemPayload: DTO, Identifiable, Codable {
    typealias Model = BItem
    let id: UUID
    let name: Tristate<String>
    let price: Tristate<Int>
    static let schema = Schema<Self>("item") { row in
        try Self(id: row("id", \.id), name: row("name", \.name), price: row("price", \.price))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BItem(id: $0.id, name: "", price: 0)
        } properties: {
            Field(\.id, \.id)
            Field(\.name, \.name)
            Field(\.price, \.price)
        }
    }
}

/// What one writes by hand for payloads that may leave something out: what a copy says is taken, and compared.
private func mapItemsByHand(_ dtos: [ItemPayload]) throws -> [BItem] {
    var items: [UUID: (model: BItem, name: Tristate<String>, price: Tristate<Int>)] = [:]
    items.reserveCapacity(dtos.count)
    var result: [BItem] = []
    result.reserveCapacity(dtos.count)
    for dto in dtos {
        var known = items[dto.id] ?? (BItem(id: dto.id, name: "", price: 0), .unset, .unset)
        if let name = dto.name.value {
            guard known.name.isUnset || known.name == dto.name else { throw Different() }
            known.name = dto.name
            known.model.name = name
        }
        if let price = dto.price.value {
            guard known.price.isUnset || known.price == dto.price else { throw Different() }
            known.price = dto.price
            known.model.price = price
        }
        items[dto.id] = known
        result.append(known.model)
    }
    return result
}

private func sum(_ items: [BItem]) -> Int { items.reduce(0) { $0 &+ $1.price &+ $1.name.utf8.count } }

/// JSON to models. Both sides decode the same DTOs by `JSONDecoder`, which is most of the work.
func benchmarkJSON(_ harness: Harness) async throws {
    guard harness.wants("map.json", "map.json.tristate") else { return }
    let workload = Workload(users: 1_000)
    let references = workload.carts.count + workload.carts.reduce(0) { $0 + $1.items.count }
    let orders = try JSONEncoder().encode(workload.nested)
    try await harness.compare("map.json", n: references, target: 1.1) {
        let session = GraphSession(UserDTO.mapping, CartDTO.mapping, ItemRecord.mapping)
        return checksum(try session.map(JSONDecoder().decode([UserDTO].self, from: orders)))
    } baseline: {
        checksum(try mapByHand(JSONDecoder().decode([UserDTO].self, from: orders)))
    }

    // Every item twice: half of the copies lack the name, the other half the price.
    let payloads = workload.items.enumerated().flatMap { index, item in
        let (name, price) = (Tristate.value(item.name), Tristate.value(item.price))
        let copies = [
            ItemPayload(id: item.id, name: name, price: .unset), ItemPayload(id: item.id, name: .unset, price: price),
        ]
        return index % 2 == 0 ? copies : copies.reversed()
    }
    let items = try JSONEncoder().encode(payloads)
    try await harness.compare("map.json.tristate", n: payloads.count) {
        let session = GraphSession(ItemPayload.mapping)
        return sum(try session.map(JSONDecoder().decode([ItemPayload].self, from: items)))
    } baseline: {
        sum(try mapItemsByHand(JSONDecoder().decode([ItemPayload].self, from: items)))
    }
}
