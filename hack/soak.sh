#!/usr/bin/env bash
# What random tests try a few times in every run, by the million: hours of nodes whose
# parts must sum to their cost, and servers and agents that are killed. Failures name
# a seed. Allow two hours.
#   hack/soak.sh [HOURS [KILLS]]
set -euo pipefail
cd "$(dirname "$0")/.."
hours=${1:-1000000} kills=${2:-200}
export GPUTALLY_TEST_KILLS=$kills

echo "== $hours random hours of nodes: every nano-unit has an owner"
go test ./internal/core/allocation -run '^TestEntriesSumToTheCost$' -count=1 -v -timeout 12h -rapid.checks="$hours"

echo "== $kills kills in each test: counted once, billed once"
go test ./test/delivery -count=1 -v -timeout 12h
