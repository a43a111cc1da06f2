import Foundation
import GraphMapperStore

/// A link of a chain that is as long as the workload.
final class BLink {
    let id: UUID
    var value: Int
    var next: BLink?
    init(id: UUID, value: Int) {
        self.id = id
        self.value = value
    }
}

struct LinkDTO: StoredRecord {
    typealias Model = BLink
    let id: UUID
    let value: Int
    let next: Ref<LinkDTO>?
    static let schema = Schema<Self>("link") { row in
        try Self(id: row("id", \.id), value: row("value", \.value), next: row("next", \.next))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            BLink(id: $0.id, value: $0.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.value, \.value)
            One(\.next, \.next)
        }
    }
}

/// What one writes by hand: all models first, then the links, by a dictionary.
private func mapChainByHand(_ dtos: [LinkDTO]) throws -> [BLink] {
    var links: [UUID: (BLink, Int)] = [:]
    links.reserveCapacity(dtos.count)
    var result: [BLink] = []
    result.reserveCapacity(dtos.count)
    for (index, dto) in dtos.enumerated() {
        if let (link, first) = links[dto.id] {
            guard dtos[first].value == dto.value, dtos[first].next == dto.next else { throw Different() }
            result.append(link)
            continue
        }
        let link = BLink(id: dto.id, value: dto.value)
        links[dto.id] = (link, index)
        result.append(link)
    }
    for (dto, link) in zip(dtos, result) {
        guard let next = dto.next else { continue }
        guard let (target, _) = links[next.id] else { throw BenchmarkError("no link \(next.id)") }
        link.next = target
    }
    return result
}

/// Walks the chain from its first link, and takes it apart: released whole, it would recurse a million deep.
private func consume(_ links: [BLink], from first: UUID) -> Int {
    var sum = 0
    var next = links.first { $0.id == first }
    while let link = next {
        sum = sum &* 31 &+ link.value
        next = link.next
    }
    for link in links { link.next = nil }
    return sum
}

/// A chain of a million DTOs, which arrive in no order.
func benchmarkDepth(_ harness: Harness, count: Int = 1_000_000) async throws {
    guard harness.wants("map.deep") else { return }
    var random = Random(state: 7)
    let ids = (0..<count).map { _ in random.uuid() }
    var dtos = ids.indices.map { index in
        LinkDTO(id: ids[index], value: index, next: index + 1 < count ? Ref(ids[index + 1]) : nil)
    }
    for index in stride(from: count - 1, to: 0, by: -1) {
        dtos.swapAt(index, Int(random.next() % UInt64(index + 1)))
    }
    let chain = dtos
    try await harness.compare("map.deep", n: count) {
        let session = GraphSession(LinkDTO.mapping)
        return consume(try session.map(chain), from: ids[0])
    } baseline: {
        consume(try mapChainByHand(chain), from: ids[0])
    }
}
