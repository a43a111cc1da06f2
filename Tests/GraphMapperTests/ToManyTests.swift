import GraphMapper
import Testing

private protocol PlaceComment { var text: String { get } }
private struct StoredComment: PlaceComment { let text: String }
private struct MissingComment: PlaceComment { var text: String { "gone" } }
private struct Unreadable: Error {}

/// Counts what a collection asks of its closures.
private final class Asked {
    var count = 0
    var at: [Int] = []
    var isBroken = false
}

@Suite struct `A to-many collection` {
    private func counting(_ size: Int, _ asked: Asked) -> ToMany<Int> {
        ToMany {
            asked.count += 1
            return size
        } at: { index in
            asked.at.append(index)
            return index * 3
        }
    }

    @Test func `count fetches nothing, and a subscript one element`() {
        let asked = Asked()
        let numbers = counting(10_000, asked)
        #expect(numbers.count == 10_000 && !numbers.isEmpty)
        #expect(asked.at.isEmpty)
        #expect(numbers[9_999] == 29_997)
        #expect(asked.at == [9_999])
        #expect(numbers.count == 10_000 && numbers.endIndex == 10_000)
        #expect(asked.count == 1)
        #expect(Array(numbers.suffix(2)) == [29_994, 29_997])
        #expect(asked.at.count == 3)
    }

    @Test func `walking asks for the count once and for each element once`() {
        let asked = Asked()
        var sum = 0
        for number in counting(100, asked) { sum += number }
        #expect(sum == 3 * 4_950 && asked.count == 1 && asked.at == Array(0..<100))
    }

    @Test func `over closures, an array and a slice it is the same`() throws {
        let array = (0..<500).map { $0 * 3 }
        let slice = ([-1] + array + [-1])[1...500]
        let all = [
            counting(500, Asked()), ToMany(array), ToMany(slice), ToMany(stride(from: 0, to: 1500, by: 3).map { $0 }),
        ]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<1_000 {
            let index = Int.random(in: 0..<500, using: &random)
            let lower = Int.random(in: 0...index, using: &random)
            for one in all {
                #expect(one[index] == array[index])
                #expect(try one.element(at: index) == array[index])
                #expect(one.index(lower, offsetBy: index - lower) == index)
                if index - lower < 10 { #expect(Array(one[lower..<index]) == Array(array[lower..<index])) }
            }
        }
        for one in all {
            #expect(Array(one) == array && Array(one.reversed()) == array.reversed())
            #expect(one.count == 500 && one.first == 0 && one.last == 1_497)
            #expect(one.firstIndex(of: 300) == 100)
        }
        #expect(ToMany([Int]()).isEmpty && ToMany([Int]()).last == nil)
        #expect(ToMany<Int>(count: { -5 }, at: { $0 }).isEmpty)
    }

    @Test func `concrete elements are seen as a protocol without a copy`() {
        let stored = (0..<10_000).map { StoredComment(text: "comment \($0)") }
        var made = 0
        let comments: ToMany<any PlaceComment> = ToMany(stored).mapped {
            made += 1
            return $0 as any PlaceComment
        }
        #expect(comments.count == 10_000 && made == 0)
        #expect(comments[9_999].text == "comment 9999" && made == 1)
        #expect(comments.mapped(\.text).last == "comment 9999" && made == 2)
    }

    @Test func `an index out of bounds is an error that says so`() {
        let numbers = ToMany([1, 2, 3])
        for index in [-1, 3, .max, .min] {
            let error = #expect(throws: GraphError.self) { try numbers.element(at: index) }
            #expect(error.map { "\($0)".contains("no element \(index): the collection has 3") } ?? false)
        }
    }

    @Test func `a failing fetch throws, or is answered by what stands in`() throws {
        let asked = Asked()
        let comments = ToMany<any PlaceComment> {
            asked.count += 1
            if asked.isBroken { throw Unreadable() }
            return 3
        } at: { index in
            if index == 1 { throw Unreadable() }
            return StoredComment(text: "\(index)")
        } otherwise: { _, _ in
            MissingComment()
        }
        #expect(comments.map(\.text) == ["0", "gone", "2"])
        #expect(comments.mapped { $0.text + "!" }[1] == "gone!")
        #expect(throws: Unreadable.self) { try comments.element(at: 1) }
        #expect(throws: Unreadable.self) { try comments.mapped(\.text).element(at: 1) }
        #expect(try comments.element(at: 2).text == "2")

        asked.isBroken = true
        #expect(comments.count == 3, "the count is kept")
        let fresh = comments.reloaded()
        #expect(fresh.isEmpty && Array(fresh).isEmpty)
        #expect(throws: Unreadable.self) { try fresh.tryCount }
        #expect(throws: Unreadable.self) { try fresh.element(at: 0) }
        asked.isBroken = false
        #expect(try fresh.tryCount == 3)
        #expect(fresh.count == 3)
    }

    @Test func `rows that vanish while it is walked do not stop the program`() {
        var rows = Array(0..<10)
        let numbers = ToMany {
            rows.count
        } at: { index in
            guard index < rows.count else { throw Unreadable() }
            return rows[index]
        } otherwise: { _, _ in
            -1
        }
        var seen: [Int] = []
        for number in numbers {
            seen.append(number)
            if number == 4 { rows.removeLast(4) }
        }
        #expect(seen == [0, 1, 2, 3, 4, 5, -1, -1, -1, -1])
        #expect(Array(numbers).count == 10 && numbers.reloaded().count == 6)
    }
}
