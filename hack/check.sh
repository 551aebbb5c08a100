#!/usr/bin/env bash
# What CI checks beside the tests and the real cluster: form, the race
# detector, the mock library under AddressSanitizer, generated documents.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "gofmt"
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "run gofmt -w on:"; echo "$unformatted"; exit 1; }

step "go vet"
go vet ./...

step "go.mod is tidy"
go mod tidy -diff

step "race detector"
# The database works in its own threads, which the detector does not see: of that
# package only what runs side by side in Go is tried, the rest takes minutes.
go test -race -timeout 30m $(go list ./internal/adapter/... ./internal/app/... ./cmd/... | grep -v /duck$)
go test -race -timeout 30m ./internal/adapter/duck -run 'TestContract$/readers|TestContract$/a_slow|TestBackupWhileWriting|TestDaysAreReadAddedUp|TestLedgerContract$/rated_again'

step "mock library under AddressSanitizer"
make --no-print-directory -C test/mocknvml asan-test

step "generated documents"
diff <(go run ./cmd/gputally-agent docs metrics) docs/metrics.md || { echo "docs/metrics.md is out of date: make docs"; exit 1; }
diff <(go run ./cmd/gputally-agent docs flags) docs/flags.md || { echo "docs/flags.md is out of date: make docs"; exit 1; }
echo "all checks passed"
