# gputally: what a developer does with it. `make` alone prints this list.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

GO      ?= go
BIN     := bin
MOCK    := test/mocknvml/build/libnvidia-ml.so.1
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Without gRPC's tracing pages the linker can drop what is not called: a sixth of
# the agent's size and memory. Whoever measures or delivers the programs builds
# them with this makefile (make build BIN=FOLDER), so that all have the same.
TAGS    := grpcnotrace

##@ Use
.PHONY: demo
demo: build mock ## Three GPU nodes and the bill of a month on this machine (Ctrl-C ends); DEMO="--once" prints and ends
	$(GO) run ./test/demo --bin $(BIN) --nvml $(MOCK) $(DEMO)

.PHONY: build
build: ## Build both programs into bin/
	@mkdir -p $(BIN)
	$(GO) build -tags $(TAGS) -ldflags '$(LDFLAGS)' -o $(BIN)/ ./cmd/gputally ./cmd/gputally-agent

IMAGE_NAME ?= docker.io/library/gputally
IMAGE_DIR  := $(BIN)/image
REVISION   := $(shell git rev-parse HEAD 2>/dev/null)
# A tag may not hold every character that a version may.
IMAGE_TAG   = $(subst +,-,$(VERSION))

.PHONY: image
image: ## The container image for amd64 and arm64 with its bills of materials, without an engine, in bin/image (docs/images.md)
	$(GO) run ./tools/image -o $(IMAGE_DIR) --name $(IMAGE_NAME) --version $(IMAGE_TAG) --revision "$(REVISION)" --tags $(TAGS)

.PHONY: image-test
image-test: image mock ## Start the image's programs in its own files (root), check its bills, build it twice
	IMAGE=$(abspath $(IMAGE_DIR)) IMAGE_TAGS=$(TAGS) IMAGE_REVISION="$(REVISION)" $(GO) test -tags image -count=1 -timeout 30m ./tools/image/...

##@ Develop
.PHONY: test
test: need-gcc ## All tests that need no root
	$(GO) test -timeout 30m ./...

.PHONY: soak
soak: ## Random hours by the million and kills by the hundred: allow two hours
	hack/soak.sh $(HOURS) $(KILLS)

.PHONY: race
race: need-gcc ## The same with the race detector
	$(GO) test -race ./internal/adapter/... ./internal/app/... ./cmd/...

.PHONY: golden
golden: ## Rewrite golden files from what the code prints now; read the diff
	$(GO) test ./test/scenario ./cmd/... -update

.PHONY: docs
docs: ## Write the generated references (docs/api/openapi.yaml; in English and Chinese cli.md, metrics.md, flags.md, guardrails.md, server-metrics.md, server-config.md; the measured parts of Chinese pages and the chart's README)
	$(GO) run ./cmd/gputally docs cli > docs/cli.md
	$(GO) run ./cmd/gputally docs openapi > docs/api/openapi.yaml
	$(GO) run ./cmd/gputally-agent docs metrics > docs/metrics.md
	$(GO) run ./cmd/gputally-agent docs flags > docs/flags.md
	$(GO) run ./cmd/gputally docs guard > docs/guardrails.md
	$(GO) run ./cmd/gputally docs metrics > docs/server-metrics.md
	$(GO) run ./cmd/gputally docs server-config > docs/server-config.md
	$(GO) run ./cmd/gputally docs cli --lang zh > docs/zh/cli.md
	$(GO) run ./cmd/gputally-agent docs metrics --lang zh > docs/zh/metrics.md
	$(GO) run ./cmd/gputally-agent docs flags --lang zh > docs/zh/flags.md
	$(GO) run ./cmd/gputally docs guard --lang zh > docs/zh/guardrails.md
	$(GO) run ./cmd/gputally docs metrics --lang zh > docs/zh/server-metrics.md
	$(GO) run ./cmd/gputally docs server-config --lang zh > docs/zh/server-config.md
	$(GO) run ./tools/figures
	$(GO) run ./tools/chartreadme

.PHONY: fuzz
fuzz: ## Fuzz every parser for FUZZTIME (default 20s) each
	hack/fuzz.sh $(or $(FUZZTIME),20s)

.PHONY: bench
bench: build mock ## Measure cost and accuracy on this machine; writes docs/accuracy.md, cost.md, packing-speed.md and ledger-speed.md
	hack/bench.sh

.PHONY: bench-ledger
bench-ledger: need-gcc ## Measure the ledger at 10,000 GPUs (a part of bench); writes docs/ledger-speed.md
	$(GO) run ./test/speed -write docs/ledger-speed.md
	$(GO) run ./tools/figures

.PHONY: mock
mock: need-gcc ## Build the mock libnvidia-ml.so.1
	@$(MAKE) --no-print-directory -C test/mocknvml

##@ Check
.PHONY: check
check: test ## Everything CI checks, the real cluster left out
	hack/check.sh

.PHONY: cluster
cluster: ## A real Kubernetes node with a mock GPU (root): SCENARIO=name runs one
	test/cluster/run.sh $(SCENARIO)

# Its name tells whoever sweeps up after test/cluster that the run is alive.
.PHONY: scale
scale: ## A real control plane with 1,000 fake nodes (root, an hour): writes docs/scale.md; SCALE="-nodes 100 -pods 1000" is smaller
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/scale.test ./test/scale
	$(BIN)/scale.test -write docs/scale.md $(SCALE)
	$(GO) run ./tools/figures

# -count=1: what is tested lies outside of the modules, where the go command does not
# look for changes.
.PHONY: chart-test
chart-test: ## The Helm chart and the plain manifests: rendered, and held to Kubernetes, Prometheus and our documents
	cd test/chart && $(GO) vet ./... && $(GO) test -count=1 ./...
	cd test/chart/oldest && $(GO) test -count=1 ./...
	$(GO) run ./cmd/gputally guard scan -f deploy/manifests

.PHONY: manifests
manifests: ## Write the dashboards, deploy/manifests, the chart's README and its golden files
	$(GO) run ./tools/dashboards
	cd test/chart && $(GO) run ./write && $(GO) test . -run TestGolden -update
	$(GO) run ./tools/chartreadme

.PHONY: need-gcc
need-gcc:
	@command -v gcc >/dev/null || { echo "gcc is needed (for NVML's C binding and the mock library). On Debian or Ubuntu: sudo apt-get install -y gcc libc6-dev"; exit 1; }

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(BIN) test/mocknvml/build

.PHONY: help
help: ## Print this list
	@awk 'BEGIN {FS = ":.*##"} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-zA-Z_-]+:.*##/ {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
