import Foundation
import GraphMapperTesting
import Testing

@testable import GraphMapperStore

// MARK: Text dates, text UUIDs, words for yes and no

private enum YesNo: ColumnForm {
    static let conversion = Conversion<String, Bool> { text in
        guard ["yes", "no", "Y", "N"].contains(text) else {
            throw GraphError(.conversion, "\"\(text)\" is not yes or no")
        }
        return "yY".contains(text.prefix(1))
    } encode: {
        $0 ? "yes" : "no"
    }
}

private final class Visit {
    let id: Converted<TextUUID>
    var made: Date
    var isPaid: Bool
    var price: Decimal
    var guest: Guest?
    init(id: Converted<TextUUID>, made: Date, isPaid: Bool, price: Decimal) {
        self.id = id
        self.made = made
        self.isPaid = isPaid
        self.price = price
    }
}
private final class Guest {
    let id: Converted<LowercaseUUID>
    var seen: Date?
    var visits: [Visit] = []
    init(id: Converted<LowercaseUUID>) { self.id = id }
}
private struct GuestRecord: StoredRecord {
    typealias Model = Guest
    let id: Converted<LowercaseUUID>
    var seen: Converted<UnixDate>?
    static let isAdopted = true
    static let schema = Schema<Self>("guest") { row in try Self(id: row("guid", \.id), seen: row("seen", \.seen)) }
    static var mapping: Mapping<Self> {
        Mapping {
            Guest(id: $0.id)
        } properties: {
            Field(\.id, \.id)
            Field(\.seen, \.seen, using: Converted<UnixDate>.conversion.optional)
            Many(VisitRecord.self, by: \.guest, \.visits)
        }
    }
}
private struct VisitRecord: StoredRecord {
    typealias Model = Visit
    let id: Converted<TextUUID>
    var made: Converted<SQLiteDate>
    var isPaid: Converted<YesNo>
    var price: Converted<NumericDecimal>
    var guest: Ref<GuestRecord>?
    static let isAdopted = true
    static let schema = Schema<Self>("visit") { row in
        try Self(
            id: row("id", \.id), made: row("made_at", \.made), isPaid: row("paid", \.isPaid),
            price: row("price", \.price), guest: row("guest", \.guest))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Visit(id: $0.id, made: $0.made.value, isPaid: $0.isPaid.value, price: $0.price.value)
        } properties: {
            Field(\.id, \.id)
            Field(\.made, \.made, using: Converted<SQLiteDate>.conversion)
            Field(\.isPaid, \.isPaid, using: Converted<YesNo>.conversion)
            Field(\.price, \.price, using: Converted<NumericDecimal>.conversion)
            Back(\.guest, \.guest)
        }
    }
}

private let guest = "8b2e6a2c-9a3f-4b8e-9f5c-2f1f0a7d4c11"
private let visit = "0A1B2C3D-0000-4000-8000-00000000000"
private let visits = """
    CREATE TABLE guest (guid CHAR(36) PRIMARY KEY, seen DOUBLE);
    CREATE TABLE visit (id CHAR(36) PRIMARY KEY, made_at DATETIME, paid CHAR(1), price DECIMAL(10, 2), guest TEXT);
    INSERT INTO guest VALUES ('\(guest)', 1700000000), ('8b2e6a2c-9a3f-4b8e-9f5c-2f1f0a7d4c12', NULL);
    INSERT INTO visit VALUES ('\(visit)1', '2024-02-29 12:30', 'Y', 12.50, '\(guest)');
    INSERT INTO visit VALUES ('\(visit)2', '2024-03-01T00:00:00.250+02:00', 'no', 3, '\(guest)');
    INSERT INTO visit VALUES ('\(visit)3', '2023-12-31', 'N', 0.1, NULL);

    """

@Suite struct `Columns in other forms` {
    private func date(_ text: String) throws -> Date { try Conversion<String, Date>.iso8601.decode(text) }

    @Test func `values, queries, links`() async throws {
        let store = try await GraphStore.open(.file(try SQLiteShell.file(visits)), GuestRecord.self, VisitRecord.self)
        let all = try await store.fetch(Query(VisitRecord.self).sorted(by: \.id))
        #expect(
            try all.map(\.made.value)
                == ["2024-02-29T12:30:00Z", "2024-02-29T22:00:00.25Z", "2023-12-31T00:00:00Z"].map(date))
        #expect(all.map(\.isPaid.value) == [true, false, false])
        #expect(all.map(\.price.value.description) == ["12.5", "3", "0.1"])
        let day = try Converted<SQLiteDate>(date("2024-01-01T00:00:00Z"))
        #expect(try await store.count(Query(VisitRecord.self).where { $0.made >= day }) == 2)
        let seen = try Converted<UnixDate>(Date(timeIntervalSince1970: 1_700_000_000))
        #expect(try await store.fetch(Query(VisitRecord.self).where { $0.guest.seen == seen }).count == 2)
        let id = try Converted<LowercaseUUID>(try #require(UUID(uuidString: guest)))
        #expect(try await store.find(GuestRecord.self, id)?.seen == seen)
    }

    @Test func `a session writes what was edited, and leaves the spelling of the rest`() async throws {
        let file = try SQLiteShell.file(visits)
        let store = try await GraphStore.open(.file(file), GuestRecord.self, VisitRecord.self)
        let session = GraphSession(store, GuestRecord.mapping, VisitRecord.mapping)
        let id = try Converted<LowercaseUUID>(try #require(UUID(uuidString: guest)))
        let found = try #require(try await session.find(GuestRecord.self, id))
        #expect(found.visits.count == 2 && found.visits.allSatisfy { $0.guest === found })
        #expect(try await session.save().isEmpty)
        let first = try #require(found.visits.first { $0.isPaid })
        first.made = try date("2025-01-02T03:04:05.678Z")
        #expect(try await session.save().changes.count == 1)
        found.visits.first { $0 !== first }?.isPaid = true
        #expect(try await session.save().changes.count == 1)
        let rows = try store.writer.rows("SELECT made_at, paid, price FROM visit ORDER BY id")
        #expect(rows[0] == [.text("2025-01-02 03:04:05.678"), .text("Y"), .real(12.5)])
        #expect(rows[1] == [.text("2024-03-01T00:00:00.250+02:00"), .text("yes"), .integer(3)])
        #expect(try schema(file) == ["guest", "visit"])
        let wrong = "UPDATE visit SET paid = 'maybe' WHERE paid = 'N';\n"
        try SQLiteShell.run(wrong, on: file)
        let error = await #expect(throws: GraphError.self) { _ = try await store.fetch(Query(VisitRecord.self)) }
        #expect(error?.property == "isPaid" || error?.property == "paid", "\(String(describing: error))")
        for guest in [found] { guest.visits = [] }
    }

    private func schema(_ file: String) throws -> [String] {
        let connection = try Connection(path: file, readOnly: true, busyTimeout: .seconds(1))
        return try connection.rows("SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY 1").map {
            if case .text(let name) = $0[0] { name } else { "" }
        }
    }

    @Test func `SQLite reads the dates that are written, and ours those of SQLite`() async throws {
        let connection = try Connection(path: FilePath.memory, readOnly: false, busyTimeout: .seconds(0))
        try check(.int(in: -2_208_988_800_000...4_102_444_800_000), count: 200) { (milliseconds: Int) in
            let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let text = try Converted<SQLiteDate>(date).stored
            let theirs = try connection.rows(
                "SELECT strftime('%Y-%m-%d %H:%M:%f', ?), datetime(?), date(?), strftime('%Y-%m-%dT%H:%M', ?)",
                [.text(text), .text(text), .text(text), .text(text)])[0]
            try ensure(theirs[0] == .text(text), "\(text), \(theirs)")
            for (number, unit) in [1, 1000, 86_400_000, 60_000].enumerated() {
                guard case .text(let text) = theirs[number] else { throw GraphError(.misuse, "\(theirs)") }
                let back = try Converted<SQLiteDate>(stored: text).value
                let expected = Double(milliseconds - ((milliseconds % unit) + unit) % unit) / 1000
                try ensure(abs(back.timeIntervalSince1970 - expected) < 1e-4, "\(text), \(back), \(date)")
            }
        }
        for text in [
            "", "now", "2024-02-30", "2024-02-29 25:00", "2024-02-29x12:00", "2024-02-29 12:00:00 PM", "12:00",
        ] {
            #expect(throws: GraphError.self, "\(text)") { try Converted<SQLiteDate>(stored: text) }
        }
    }

    @Test func `decimals are numbers, exactly or not at all`() throws {
        for text in ["0", "0.1", "12.5", "-99999999.99", "123456789012345", "1e-5"] {
            let decimal = try #require(Decimal(string: text))
            let column = try Converted<NumericDecimal>(decimal)
            #expect(try Converted<NumericDecimal>(stored: column.stored).value == decimal)
        }
        for text in ["0.12345678901234567890", "12345678901234567890.5"] {
            let decimal = try #require(Decimal(string: text))
            #expect(throws: GraphError.self) { try Converted<NumericDecimal>(decimal) }
        }
        for number in [Double.nan, .infinity, 1e300] {
            #expect(throws: GraphError.self) { try Converted<NumericDecimal>(stored: number) }
            if !number.isFinite { #expect(throws: GraphError.self) { try Converted<CocoaDate>(stored: number) } }
        }
    }
}

// MARK: Core Data

private final class Band {
    let id: Int
    var name: String
    var founded: Date?
    var members: [Musician] = []
    init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}
private final class Musician {
    let id: Int
    var name: String
    weak var band: Band?
    init(id: Int, name: String) { (self.id, self.name) = (id, name) }
}
private struct BandRecord: StoredRecord {
    typealias Model = Band
    let id: Int
    var version: Int
    var name: String
    var founded: Converted<CocoaDate>?
    var isActive: Bool
    var key: UUID?
    static let isAdopted = true
    static let schema = Schema<Self>("ZBAND") { row in
        try Self(
            id: row("Z_PK", \.id), version: row("Z_OPT", \.version), name: row("ZNAME", \.name),
            founded: row("ZFOUNDED", \.founded), isActive: row("ZISACTIVE", \.isActive), key: row("ZKEY", \.key))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Band(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Version(\.version)
            Field(\.name, \.name)
            Field(\.founded, \.founded, using: Converted<CocoaDate>.conversion.optional)
            Unmapped(\.isActive, initial: true)
            Unmapped(\.key, initial: nil)
            Many(MusicianRecord.self, by: \.band, \.members)
        }
    }
}
private struct MusicianRecord: StoredRecord {
    typealias Model = Musician
    let id: Int
    var entity: Int
    var name: String
    var band: Ref<BandRecord>?
    static let isAdopted = true
    static let schema = Schema<Self>("ZMEMBER") { row in
        try Self(
            id: row("Z_PK", \.id), entity: row("Z_ENT", \.entity), name: row("ZNAME", \.name),
            band: row("ZBAND", \.band))
    }
    static var mapping: Mapping<Self> {
        Mapping {
            Musician(id: $0.id, name: $0.name)
        } properties: {
            Field(\.id, \.id)
            Unmapped(\.entity, initial: 2)
            Field(\.name, \.name)
            Back(\.band, \.band)
        }
    }
}
/// A link of many to many is a row of its own.
private struct Playing: EmbeddedValue, Hashable {
    var player: Int
    var song: Int
    static let schema = Schema<Self> { row in
        try Self(player: row("Z_2PLAYERS", \.player), song: row("Z_3SONGS", \.song))
    }
}
private struct PlayingRecord: StoredRecord {
    let id: Playing
    static let isAdopted = true
    static let schema = Schema<Self>("Z_2SONGS") { row in try Self(id: row("", \.id)) }
}

private let coreData = """
    CREATE TABLE ZBAND ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZISACTIVE INTEGER, ZFOUNDED TIMESTAMP,
        ZNAME VARCHAR, ZKEY BLOB );
    CREATE TABLE ZMEMBER ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZBAND INTEGER, ZNAME VARCHAR );
    CREATE INDEX ZMEMBER_ZBAND_INDEX ON ZMEMBER (ZBAND);
    CREATE TABLE Z_2SONGS ( Z_2PLAYERS INTEGER, Z_3SONGS INTEGER, PRIMARY KEY (Z_2PLAYERS, Z_3SONGS) );
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    INSERT INTO Z_PRIMARYKEY VALUES (1, 'Band', 0, 2), (2, 'Member', 0, 3);
    INSERT INTO ZBAND VALUES (1, 1, 1, 1, 700000000.5, 'The Rows', x'000102030405060708090a0b0c0d0e0f');
    INSERT INTO ZBAND VALUES (2, 1, 4, 0, 0, 'Keys', NULL);
    INSERT INTO ZMEMBER VALUES (1, 2, 1, 1, 'ann'), (2, 2, 1, 1, 'bo'), (3, 2, 1, NULL, 'cy');
    INSERT INTO Z_2SONGS VALUES (1, 7), (2, 7), (1, 8);

    """

@Suite struct `A file of Core Data` {
    @Test func `is read, and written as it would`() async throws {
        let file = try SQLiteShell.file(coreData)
        let store = try await GraphStore.open(.file(file), BandRecord.self, MusicianRecord.self, PlayingRecord.self)
        let session = GraphSession(store, BandRecord.mapping, MusicianRecord.mapping)
        let bands = try await session.models(Query(BandRecord.self).sorted(by: \.id))
        #expect(bands.map(\.name) == ["The Rows", "Keys"])
        #expect(bands.map(\.founded?.timeIntervalSinceReferenceDate) == [700_000_000.5, 0])
        #expect(bands[0].members.map(\.name).sorted() == ["ann", "bo"])
        #expect(try await store.count(Query(BandRecord.self).where { $0.isActive == true }) == 1)
        #expect(try await session.save().isEmpty)
        let songs = try await store.fetch(Query(PlayingRecord.self).where { $0.id.player == 1 })
        #expect(songs.map(\.id.song).sorted() == [7, 8])

        bands[1].name = "Locks"
        let moved = try #require(bands[0].members.first)
        bands[0].members.removeFirst()
        bands[1].members.append(moved)
        #expect(try await session.save().changes.count == 2)
        #expect(
            try store.writer.rows("SELECT Z_OPT, ZNAME FROM ZBAND WHERE Z_PK = 2") == [[.integer(5), .text("Locks")]])
        #expect(try store.writer.rows("SELECT count(*) FROM ZMEMBER WHERE ZBAND = 2") == [[.integer(1)]])
        // A new row takes its key from where Core Data counts them.
        try await store.write { tx in
            let next = "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1 WHERE Z_NAME = 'Member' RETURNING Z_MAX"
            guard case .integer(let key)? = try await tx.rows(next).first?.first else {
                throw GraphError(.misuse, next)
            }
            try await tx.insert(MusicianRecord(id: Int(key), entity: 2, name: "di", band: Ref(1)))
        }
        #expect(try await store.find(MusicianRecord.self, 4)?.name == "di")
        #expect(try store.writer.rows("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'graph%'") == [[.integer(0)]])
        for band in bands { band.members = [] }
    }

    @Test func `a link of many to many is a set, by a view`() async throws {
        var options = GraphStore.Options()
        options.isReadOnly = true
        options.prepare = {
            try $0.execute(
                "CREATE TEMP VIEW ZMEMBER_songs AS SELECT Z_2PLAYERS AS owner, rowid AS position, Z_3SONGS AS target "
                    + "FROM Z_2SONGS")
        }
        let script = coreData + "CREATE TABLE ZSONG (Z_PK INTEGER PRIMARY KEY);\nINSERT INTO ZSONG VALUES (7), (8);\n"
        let store = try await GraphStore.open(
            .file(try SQLiteShell.file(script)), options: options, PlayerRecord.self, SongRecord.self)
        let players = try await store.fetch(Query(PlayerRecord.self).sorted(by: \.id))
        #expect(players.map(\.songs) == [[Ref(7), Ref(8)], [Ref(7)], []])
        #expect(try await store.count(Query(PlayerRecord.self).where { $0.songs.contains(Ref(8)) }) == 1)
        options.prepare = {
            try $0.execute("CREATE TEMP VIEW ZMEMBER_songs AS SELECT 1 AS owner, 2 AS position, NULL AS target")
        }
        let odd = try await GraphStore.open(
            .file(try SQLiteShell.file(script)), options: options, PlayerRecord.self, SongRecord.self)
        let error = await #expect(throws: GraphError.self) { _ = try await odd.fetch(Query(PlayerRecord.self)) }
        #expect(error?.type == "ZMEMBER" && error?.property == "songs", "\(String(describing: error))")
    }

    private struct SongRecord: StoredRecord {
        let id: Int
        static let isAdopted = true
        static let schema = Schema<Self>("ZSONG") { row in try Self(id: row("Z_PK", \.id)) }
    }
    private struct PlayerRecord: StoredRecord {
        let id: Int
        var songs: Set<Ref<SongRecord>>
        static let isAdopted = true
        static let schema = Schema<Self>("ZMEMBER") { row in
            try Self(id: row("Z_PK", \.id), songs: row("songs", \.songs))
        }
    }
}
