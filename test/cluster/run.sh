#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [SCENARIO]: plays one scenario, or all of them, on a real Kubernetes node.
# The first run builds Kubernetes and NVIDIA's programs (about 15 minutes); later runs
# start in seconds. With GPUTALLY_CLUSTER_REQUIRED=1, as in CI, it installs the packages it
# needs, and a machine that cannot carry the node is a failure, not a skip.
# With GPUTALLY_CLUSTER_VM=1 the node runs in an emulated machine with cgroup v2.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${GPUTALLY_CLUSTER_REQUIRED:-}" = 1 ]; then ./install.sh; fi
exec go test -tags cluster -count=1 -v -timeout 80m -run "^TestCluster\$${1:+/^$1\$}" .
