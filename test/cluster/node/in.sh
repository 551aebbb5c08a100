#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# in.sh COMMAND...: runs a command inside the node, as a host process of it.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/cgroup.sh"
cgroup_join_host
exec nsenter --target "$(cat "$NODE/init.pid")" --mount --net --pid --cgroup --ipc --uts "$@"
