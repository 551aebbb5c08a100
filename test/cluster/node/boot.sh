#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# boot.sh runs inside the node, once: configuration, then every daemon, then it waits
# until the API server says that the node is Ready. It prints when each step was reached.
set -euo pipefail
cd /run/node
here=/run/node/scripts
start=$(date +%s%N)
reached() { echo "node: $(((($(date +%s%N) - start)) / 1000000)) ms: $*"; }
poll=${NODE_POLL:-0.2} # asking costs time too, and much of it in an emulated machine
wait_for() { # TIMES WHAT COMMAND...
	local times=$1 what=$2 i
	shift 2
	for ((i = 0; i < times; i++)); do
		! "$@" >/dev/null 2>&1 || { reached "$what"; return; }
		sleep "$poll"
	done
	echo "node: still not after $times times: $what (see $NODE/log)" >&2
	exit 1
}
api() { curl -sf --cacert /run/node/tls/apiserver.crt -H 'Authorization: Bearer admin-token' "https://10.10.0.1:6443$1"; }
node_ready() { api /api/v1/nodes/gpu-node-1 | tr -d ' \n' | grep -q '"status":"True"[^}]*"type":"Ready"\|"type":"Ready","status":"True"'; }
api_ready() { [ "$(api /readyz)" = ok ]; }
import_images() {
	local i
	for i in images/*.tar; do bin/ctr -n k8s.io images import "$i" >>log/images.log 2>&1; done
}

"$here/configure.sh"
"$here/service.sh" start etcd
"$here/service.sh" start containerd
wait_for 300 "containerd answers" bin/ctr version
"$here/service.sh" start apiserver
import_images
reached "images imported"
wait_for 900 "API server is ready" api_ready
for s in controller-manager scheduler kubelet; do "$here/service.sh" start $s; done
wait_for 900 "node is Ready" node_ready
