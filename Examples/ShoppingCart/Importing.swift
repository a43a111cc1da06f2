import Foundation
import GraphMapperStore
import ShopModels

/// `--json FILE`: a web API's orders into the same models, stored, and out again as they came.
func importOrders(_ path: String, _ options: Options) async throws {
    let data = try orders(at: path)
    let payloads = try payloads(in: data, path)
    let store = try await GraphStore.open(
        .file(options.path), OrderRecord.self, LineRecord.self, UserRecord.self, CartRecord.self, ItemRecord.self)
    show("The orders' file: \(options.path)", indent: "")

    title("In")
    let session = orderSession(store)
    let stored = try await session.models(Query(OrderRecord.self))
    show("\(count(stored.count, "order")) stored by earlier runs")
    let orders = try session.map(payloads)
    let lines = orders.flatMap(\.lines)
    let customers = Set(orders.compactMap { $0.customer.map(ObjectIdentifier.init) }).count
    let items = Set(lines.compactMap { $0.item.map(ObjectIdentifier.init) }).count
    show("\(count(orders.count, "order")) of \(count(customers, "customer")); the JSON nests \(orders.count) of them")
    show("\(count(lines.count, "line")) of \(count(items, "item")); the JSON nests \(lines.count) of them")
    let saved = try await session.save()
    show("saved: \(count(saved.changes.count, "change"))")
    let again = try await session.save()
    show("saved again: \(count(again.changes.count, "change"))")

    title("Out")
    let isSame = try write(orders, session, options.path + ".json", like: data)
    show("the same as what came in, but for the order of keys: \(isSame)")
    let fresh = orderSession(store)
    let loaded = Dictionary(
        uniqueKeysWithValues: try await fresh.models(Query(OrderRecord.self)).map { ($0.id, $0) })
    let isStored = try zip(payloads, payloads.map { loaded[$0.id] }).allSatisfy { payload, order in
        try order.map { try has($0, what: payload, fresh) } ?? false
    }
    show("the same from the file, by a session that has not seen the JSON: \(isStored)")
}

/// Why a file of orders cannot be imported, in a sentence.
struct ImportError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

private func orders(at path: String) throws -> Data {
    do {
        return try Data(contentsOf: URL(fileURLWithPath: path))
    } catch {
        let reason = FileManager.default.fileExists(atPath: path) ? "it cannot be read" : "there is no such file"
        throw ImportError("--json \(path): \(reason)")
    }
}

private func payloads(in data: Data, _ path: String) throws -> [OrderPayload] {
    do {
        return try JSONDecoder().decode([OrderPayload].self, from: data)
    } catch let error as DecodingError {
        throw ImportError("--json \(path): it is no list of orders as orders.json has them: \(error.sentence)")
    }
}

extension DecodingError {
    /// What is wrong, and where.
    fileprivate var sentence: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context):
            Self.place(context.codingPath) + context.debugDescription
        case .keyNotFound(let key, let context): Self.place(context.codingPath) + "\(key.stringValue) is missing"
        @unknown default: "\(self)"
        }
    }

    private static func place(_ path: [any CodingKey]) -> String {
        let names = path.map { $0.intValue.map(String.init) ?? $0.stringValue }
        return names.isEmpty ? "" : "\(names.joined(separator: ".")): "
    }
}

private func orderSession(_ store: GraphStore) -> GraphSession {
    GraphSession(
        store, OrderPayload.mapping, LinePayload.mapping, CustomerPayload.mapping, ItemPayload.mapping,
        OrderRecord.mapping, LineRecord.mapping, UserRecord.mapping, CartRecord.mapping, ItemRecord.mapping)
}

/// Writes the orders' JSON to a file; answers whether it says what `data` does.
private func write(_ orders: [Order], _ session: GraphSession, _ path: String, like data: Data) throws -> Bool {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .withoutEscapingSlashes]
    let written = try encoder.encode(orders.map { try session.record(OrderPayload.self, of: $0) })
    try written.write(to: URL(fileURLWithPath: path))
    show("written to \(path)")
    let (left, right) = (try JSONSerialization.jsonObject(with: data), try JSONSerialization.jsonObject(with: written))
    return (left as? NSArray)?.isEqual(right) ?? false
}

/// Whether an order has what its payload says. A file does not know a missing value from null.
private func has(_ order: Order, what payload: OrderPayload, _ session: GraphSession) throws -> Bool {
    func known(_ payload: OrderPayload) throws -> NSObject? {
        let object = try JSONSerialization.jsonObject(with: JSONEncoder().encode(payload))
        return withoutNulls(object) as? NSObject
    }
    return try known(payload) == known(session.record(OrderPayload.self, of: order))
}

private func withoutNulls(_ value: Any) -> Any {
    if let list = value as? [Any] { return list.map(withoutNulls) }
    if let object = value as? [String: Any] { return object.filter { !($0.value is NSNull) }.mapValues(withoutNulls) }
    return value
}
