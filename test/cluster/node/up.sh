#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# up.sh makes a node and starts everything on it, up to a Ready node.
# It runs on the host and needs NODE (an empty run folder that holds
# libnvidia-ml.so.1 and images/*.tar) and BIN (the folder that build.sh printed).
# The node lives until its standard input ends; by hand: NODE=.. BIN=.. up.sh < <(sleep infinity)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${NODE:?}" "${BIN:?}"
export NODE BIN

# Inside the node the repository may be hidden by its own /tmp or /run.
mkdir -p "$NODE/scripts" "$NODE/log" "$NODE/pid"
cp -r "$here/." "$NODE/scripts/"

setsid "$here/outer.sh" <&0 >"$NODE/log/keeper.log" 2>&1 &
for _ in $(seq 100); do
	[ ! -f "$NODE/ready" ] || break
	sleep 0.1
done
[ -f "$NODE/ready" ] || { echo "node: namespaces did not come up:" >&2; cat "$NODE/log/keeper.log" >&2; exit 1; }
pgrep -x -P "$(cat "$NODE/keeper.pid")" inner.sh >"$NODE/init.pid"
exec "$here/in.sh" /run/node/scripts/boot.sh </dev/null
