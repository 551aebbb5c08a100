#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# outer.sh becomes the keeper of the node: a process in a cgroup subtree of its own
# whose child is process 1 of new mount, network, process, cgroup, IPC and host name
# namespaces. If the keeper dies, so does everything in the node.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cgroup.sh"

cgroup_make || { echo "node: cannot make a cgroup subtree under $cgroup_root" >&2; exit 1; }
cgroup_join || { echo "node: cannot join the cgroup subtree $cgroup_name" >&2; exit 1; }
echo $$ >"$NODE/keeper.pid"
# The root of a cgroup namespace is the cgroup one is in when it is made.
exec unshare --cgroup "$here/keeper.sh"
