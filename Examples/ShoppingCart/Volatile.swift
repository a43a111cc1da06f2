import GraphMapperStore
import ShopModels

/// A property that only the model has.
func volatileScene(_ shop: Shop, _ session: GraphSession, _ cast: Cast) async throws {
    title("A volatile property")
    cast.espresso.isSelected = true
    show("isSelected = true: \(count(try session.changes().changes.count, "change")) to save")
    let (_, time) = try await timed("refreshing") { _ in try await session.refresh() }
    show("after a refresh (\(time)), isSelected is \(cast.espresso.isSelected)")
    show(
        "and the picture, which the scene before cleared in the file: \(cast.espresso.picture?.absoluteString ?? "nil")"
    )
    let columns = ItemRecord.schema.properties.map(\.name)
    show(
        "columns of item: \(columns.joined(separator: ", ")); isSelected among them: \(columns.contains("isSelected"))")
}
