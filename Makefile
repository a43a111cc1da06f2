SOURCES = Package.swift Sources Tests Examples Benchmarks

.PHONY: demo test soak races bench bench-counts debian docs lint format deps

demo: deps
	swift run ShoppingCart

test: deps
	swift test

# The laws, many times more often.
soak: deps
	GRAPHMAPPER_SOAK=1 swift test

# Suites of many tasks at once, for minutes, under the thread sanitizer: `make races RACES=StressTests` runs one file's.
RACES = RaceTests|StressTests|Many observers and writers|How changes are delivered|Sessions that follow the store|Writes that an observer knows of
races: deps
	GRAPHMAPPER_SOAK=1 swift test --sanitize=thread --scratch-path .build/races --filter '$(RACES)'

bench: deps
	swift run -c release Benchmarks

# Instructions in place of times, which repeat: `make bench-counts COUNTS="--compare OLD.json"`. Needs valgrind, the
# Debian package of that name.
bench-counts: deps
	@command -v valgrind > /dev/null || { echo "install valgrind first: apt-get install valgrind"; exit 1; }
	swift run -c release Benchmarks --counts $(COUNTS)

# Debian's packages and what they depend on, stored, loaded, changed and saved. Needs a Debian system's package lists.
PACKAGES = .build/Packages
debian: deps
	@test -e $(PACKAGES) || { ls /var/lib/apt/lists/*_Packages* >/dev/null 2>&1 || apt-get update -q; \
		mkdir -p .build; /usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*_main_binary-*_Packages* > $(PACKAGES); }
	swift run -c release Benchmarks --debian $(PACKAGES) --plots docs/plots

# Lists the public symbols that have no doc comment, and fails if there are any. Needs jq.
LIBRARIES = GraphMapper GraphMapperStore GraphMapperTesting
UNDOCUMENTED = .symbols[] | select(.docComment == null and .location != null) \
	| "\(.location.uri | sub("^file://"; "")):\(.location.position.line + 1): \(.pathComponents | join("."))"
SDK = $$([ "$$(uname)" = Linux ] || echo "-sdk $$(xcrun --show-sdk-path)")

docs: deps
	@command -v jq >/dev/null || apt-get install -y -q jq
	swift build
	rm -rf .build/docs && mkdir -p .build/docs
	for module in $(LIBRARIES); do \
		swift symbolgraph-extract -module-name $$module -I "$$(swift build --show-bin-path)/Modules" -I Sources/CSQLite \
			-target "$$(swiftc -print-target-info | jq -r .target.triple)" $(SDK) -minimum-access-level public \
			-skip-synthesized-members -output-dir .build/docs || exit 1; done
	jq -r '$(UNDOCUMENTED)' .build/docs/*.symbols.json > .build/docs/undocumented
	@sort -u .build/docs/undocumented; test ! -s .build/docs/undocumented

lint:
	swift format lint --strict --recursive --parallel $(SOURCES)

format:
	swift format --in-place --recursive --parallel $(SOURCES)

# SQLite's headers, and its shell for the tests: part of the system on Apple platforms, packages on Debian.
deps:
	@if [ "$$(uname)" = Linux ] && { [ ! -e /usr/include/sqlite3.h ] || ! command -v sqlite3 > /dev/null; }; then \
		apt-get update -q && apt-get install -y -q libsqlite3-dev sqlite3; fi
