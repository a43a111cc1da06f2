SOURCES = Package.swift Sources Tests Examples Benchmarks

.PHONY: demo test bench lint format deps

demo: deps
	swift run ShoppingCart

test: deps
	swift test

bench: deps
	swift run -c release Benchmarks

lint:
	swift format lint --strict --recursive --parallel $(SOURCES)

format:
	swift format --in-place --recursive --parallel $(SOURCES)

# SQLite's headers: part of the system on Apple platforms, a package on Debian.
deps:
	@if [ "$$(uname)" = Linux ] && [ ! -e /usr/include/sqlite3.h ]; then \
		apt-get update -q && apt-get install -y -q libsqlite3-dev; fi
