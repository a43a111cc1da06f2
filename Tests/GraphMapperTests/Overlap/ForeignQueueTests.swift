import Dispatch
import Foundation
import GraphMapperStore
import Testing

@testable import GraphMapper

/// What a queue asks of a session.
private enum QueueCall: String, CaseIterable, Sendable {
    case changes, add, delete, map, record, rollback, evict, mixed
}

/// A session and its models, as an app that is compiled in Swift 5 mode takes them to any queue.
private final class Carried: @unchecked Sendable {
    let session: GraphSession
    let choir: Choir<Int>
    let errors = Locked<[String]>([])

    init(_ session: GraphSession, _ choir: Choir<Int>) { (self.session, self.choir) = (session, choir) }

    func call(_ call: QueueCall, _ number: Int) throws {
        switch call {
        case .changes: _ = try session.changes()
        case .add: try session.add(Song<Int>(id: 100 + number))
        case .delete: try session.delete(choir.songs[number % 2])
        case .map: try session.map([SongPayload(id: 100 + number, name: .value("\(number)"))])
        case .record: _ = try session.record(ChoirRow<Int>.self, of: choir)
        case .rollback: try session.rollback()
        case .evict: try session.evict(choir.songs[number % 2])
        case .mixed: try self.call([.changes, .add, .map, .record, .rollback][number % 5], number)
        }
    }

    /// Calls it from eight queues at once, and says how many of the calls were refused, and how.
    func callFromQueues(_ call: QueueCall, times: Int) -> (refused: Int, others: [String]) {
        let queues = (0..<8).map { DispatchQueue(label: "foreign \($0)") }
        let group = DispatchGroup()
        let refused = Locked(0)
        for (number, queue) in queues.enumerated() {
            queue.async(group: group) { [self] in
                for round in 0..<times {
                    do {
                        try self.call(call, number * times + round)
                        errors.withLock { $0.append("\(call) from queue \(number) was let in") }
                    } catch let error as GraphError where error.kind == .misuse {
                        refused.withLock { $0 += 1 }
                    } catch { errors.withLock { $0.append("\(error)") } }
                }
            }
        }
        group.wait()
        return (refused.withLock { $0 }, errors.withLock { $0 })
    }
}

private enum Foreign {
    @MainActor static func carried() async throws -> (Festival<Int>, Carried) {
        let festival = try await Festival<Int>()
        let session = festival.session()
        return (festival, Carried(session, try await festival.choir(1, in: session)))
    }

    /// The main actor waits meanwhile: nobody but the queues runs.
    @MainActor static func run(_ call: QueueCall) async throws {
        let (_, carried) = try await carried()
        let (refused, others) = carried.callFromQueues(call, times: 50)
        #expect(refused == 400, "\(others.count) others, such as \(others.first ?? "")")
        // The one that has it goes on with it.
        #expect(try carried.session.changes().isEmpty)
        carried.choir.name = "mine"
        try await carried.session.save()
        #expect(try carried.session.changes().isEmpty)
    }

    /// Where the caller runs, which is on no actor.
    static func ask(_ carried: Carried, _ number: Int) async throws {
        switch number % 3 {
        case 0: _ = try await carried.session.find(SingerRow<Int>.self, number)
        case 1: try await carried.session.save()
        default: _ = try await carried.session.models(Query(SingerRow<Int>.self))
        }
    }
}

/// In the way of a Swift 5 app: a crash is that of the process that the test runs.
@Suite struct `A session that is touched from queues that do not have it` {
    @Test func `changes are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.changes) }
    }
    @Test func `additions are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.add) }
    }
    @Test func `deletions are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.delete) }
    }
    @Test func `payloads are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.map) }
    }
    @Test func `records are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.record) }
    }
    @Test func `a roll-back is refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.rollback) }
    }
    @Test func `evictions are refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.evict) }
    }
    @Test func `whatever they do is refused`() async {
        await #expect(processExitsWith: .success) { try await Foreign.run(.mixed) }
    }

    @Test func `asynchronous calls are refused`() async {
        await #expect(processExitsWith: .success) { @MainActor in
            let (_, carried) = try await Foreign.carried()
            let refused = Locked(0)
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        for round in 0..<50 {
                            do {
                                _ = try await Foreign.ask(carried, number * 50 + round)
                            } catch let error as GraphError where error.kind == .misuse {
                                refused.withLock { $0 += 1 }
                            } catch {}
                        }
                    }
                }
            }
            #expect(refused.withLock { $0 } == 400)
            #expect(try carried.session.changes().isEmpty)
        }
    }

    /// The recipe: a session that is made on a serial queue, and used there alone, whichever thread runs it.
    @Test func `a session that stays on its serial queue is served`() async {
        await #expect(processExitsWith: .success) {
            let queue = DispatchQueue(label: "own")
            let box = Locked<Carried?>(nil)
            queue.sync {
                let session = GraphSession(SongPayload<Int>.mapping)
                box.withLock { $0 = Carried(session, Choir(id: 1)) }
            }
            let carried = try #require(box.withLock { $0 })
            let group = DispatchGroup()
            for number in 0..<200 {
                DispatchQueue.global().async(group: group) {
                    queue.sync {
                        do { try carried.session.map([SongPayload(id: number)]) } catch {
                            carried.errors.withLock { $0.append("\(error)") }
                        }
                    }
                }
            }
            group.wait()
            #expect(carried.errors.withLock { $0 } == [])
        }
    }
}
