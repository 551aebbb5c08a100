#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# keeper.sh is the second half of outer.sh, inside the node's cgroup namespace.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/cgroup.sh"
cgroup_join_host
exec unshare --mount --net --pid --ipc --uts --fork --kill-child --propagation private "$here/inner.sh"
