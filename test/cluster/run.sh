#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [SCENARIO]: plays one scenario, or all of them, on a real Kubernetes node.
# The first run builds Kubernetes and NVIDIA's programs (about 15 minutes); later runs
# start in seconds. GPUTALLY_CLUSTER_REQUIRED=1 turns "cannot run here" into a failure.
set -euo pipefail
cd "$(dirname "$0")"
exec go test -tags cluster -count=1 -v -timeout 60m -run "^TestCluster\$${1:+/^$1\$}" .
