#!/usr/bin/env bash
# Compares gputally with the GPUs of this machine, in under four minutes:
# known amounts of memory are allocated, alone and several on one GPU, and the
# agent must find them. Writes docs/hardware-check.md (or the file given).
# It changes no setting of a GPU. Needs NVIDIA's driver, and root to see every process.
#
#   hack/gpu-check.sh build          build what is needed, on any machine with Go and gcc
#   hack/gpu-check.sh [run] [FILE]   check, with what was built
set -euo pipefail
cd "$(dirname "$0")/.."

build() {
  mkdir -p bin
  make --no-print-directory build
  go build -o bin/gpucheck ./test/gpucheck
  gcc -O1 -Wall -o bin/hold test/gpucheck/hold/hold.c -ldl
  make --no-print-directory mock
}

case "${1:-run}" in
  build) build ;;
  *)
    [ "${1:-}" = run ] && shift
    for f in bin/gputally-agent bin/gpucheck bin/hold; do
      [ -x "$f" ] || { echo "gpu-check: $f is missing; run: hack/gpu-check.sh build"; exit 1; }
    done
    mock=test/mocknvml/build/libnvidia-ml.so.1
    [ -f "$mock" ] || mock=
    exec timeout 240 bin/gpucheck -agent bin/gputally-agent -hold bin/hold -mock "$mock" -out "${1:-docs/hardware-check.md}"
    ;;
esac
