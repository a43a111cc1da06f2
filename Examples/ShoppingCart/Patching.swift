import Foundation
import GraphMapperStore
import ShopModels

/// Unset, a value and nil are three things: seen at the espresso's picture.
func patchScene(_ shop: Shop, _ item: UUID) async throws {
    title("Unset is not nil")
    let store = shop.store
    func read() async throws -> ItemRecord {
        guard let record = try await store.find(ItemRecord.self, item) else { throw shop.strange }
        return record
    }
    func picture() async throws -> String { try await read().picture ?? "nil" }

    let url = "https://shop.example/espresso.png"
    try await store.write { tx in _ = try await tx.apply(Patch(ItemRecord.self, item).set(\.picture, url)) }
    show("picture: \(try await picture())")

    _ = shop.log.take()
    try await store.write { tx in _ = try await tx.apply(Patch(ItemRecord.self, item).set(\.name, "espresso")) }
    show("a patch that sets the name and leaves the picture unset:")
    show(shortened(shop.log.take()))
    show("picture: \(try await picture())")

    let whole = try await read()
    _ = shop.log.take()
    let outcome = try await store.write { tx in
        try await tx.upsert(ItemRecord(id: item, name: whole.name, price: whole.price, picture: nil))
    }
    show("a whole record whose picture is nil (upsert: \(outcome)):")
    show(shortened(shop.log.take()))
    show("picture: \(try await picture())")
}
