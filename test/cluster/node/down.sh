#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# down.sh ends the node of the run folder NODE and removes what it left: the kernel
# ends every process and mount with the node's process 1; the cgroup folders and the
# run folder are ours to remove. It is safe to call twice.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cgroup.sh"
keeper=$(cat "$NODE/keeper.pid" 2>/dev/null || true)
if [ "$(cat "/proc/${keeper:-0}/comm" 2>/dev/null)" = unshare ]; then
	kill -9 "$keeper" 2>/dev/null || true
	init=$(cat "$NODE/init.pid" 2>/dev/null || true)
	for _ in $(seq 50); do
		[ -n "$init" ] && [ -d "/proc/$init" ] || break
		sleep 0.1
	done
fi
cgroup_remove
rm -rf --one-file-system "$NODE"
