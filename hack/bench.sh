#!/usr/bin/env bash
# Measures on this machine what the agent costs and how accurate sampling is,
# how good repacking plans are, how fast the ledger is, writes the tables of
# docs/cost.md, accuracy.md, packing-speed.md and ledger-speed.md, and runs the benchmarks of the core packages and of what
# reads the node. Allow three quarters of an hour; BENCHTIME (default 1s) is for the benchmarks, SECONDS_EACH
# (default 60) for each setting of cost.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; }

step "benchmarks"
go test -run '^$' -bench . -benchmem -benchtime "${BENCHTIME:-1s}" \
  ./internal/core/... ./internal/adapter/nvml ./internal/adapter/procfs ./internal/adapter/capture | grep -vE '^(PASS|ok|\?)|no test files'

step "accuracy"
go run ./test/accuracy -write docs/accuracy.md
echo "docs/accuracy.md is written"

step "cost"
go run ./test/cost -measure "${SECONDS_EACH:-60}s" -write docs/cost.md
echo "docs/cost.md is written"

step "packing"
go run ./test/packing -write docs/packing-speed.md
echo "docs/packing-speed.md is written"

step "ledger"
go run ./test/speed -write docs/ledger-speed.md
echo "docs/ledger-speed.md is written"

step "the same figures in Chinese"
go run ./tools/figures
