#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh builds the unpatched Kubernetes, containerd and NVIDIA programs of the
# test node and prints the folder they lie in. Each module of build/ is built once
# per content of its go.mod, go.sum and Go files; later calls only print the folder.
# GPUTALLY_CLUSTER_JOBS sets the number of parallel compilations (2), GPUTALLY_CLUSTER_KUBE
# names the module whose Kubernetes takes the place of the newest (kube130, the oldest that
# gputally runs on), GPUTALLY_CLUSTER_MORE modules that most runs need not (kwok, which
# plays many nodes: test/scale).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gputally/cluster
jobs=${GPUTALLY_CLUSTER_JOBS:-2}
modules="kube ${GPUTALLY_CLUSTER_KUBE:-} kubectl containerd deviceplugin toolkit dra ${GPUTALLY_CLUSTER_MORE:-}"
for m in $modules; do
	[ -f "$here/build/$m/tools.go" ] || { echo "cluster: there is no module $here/build/$m (GPUTALLY_CLUSTER_KUBE, GPUTALLY_CLUSTER_MORE)" >&2; exit 2; }
done

# The device plugin, nvidia-ctk and the DRA driver load NVML through cgo; the rest is pure Go.
cgo_of() { case $1 in deviceplugin | toolkit | dra) echo 1 ;; *) echo 0 ;; esac; }

# kube's programs refuse to work together without a version stamp.
ldflags_of() {
	case $1 in kube*) ;; *) echo "-s -w"; return ;; esac
	local v
	v=$(awk '$1 == "require" && $2 == "k8s.io/kubernetes" { print $3 } $1 == "k8s.io/kubernetes" { print $2 }' "$here/build/$1/go.mod" | head -1)
	local major=${v#v} p=k8s.io/component-base/version
	local minor=${major#*.}
	echo "-s -w -X $p.gitVersion=$v -X $p.gitMajor=${major%%.*} -X $p.gitMinor=${minor%%.*}"
}

commands_of() { sed -n 's/^\t_ "\(.*\)"$/\1/p' "$here/build/$1/tools.go"; }
hash_of() { (cd "$here/build/$1" && find . -name "*.go" -printf "%P\n" | LC_ALL=C sort | xargs cat go.mod go.sum | sha256sum | cut -c1-16); }

build() {
	local name=$1 out=$2 start=$SECONDS
	echo "cluster: building $name (once; kept in $out)" >&2
	rm -rf "$out.partial" && mkdir -p "$out.partial"
	# shellcheck disable=SC2046 # one argument per command
	(cd "$here/build/$name" && CGO_ENABLED=$(cgo_of "$name") CGO_CFLAGS="-O2 -Wno-deprecated-declarations" GOFLAGS=-mod=readonly \
		nice -n 15 go build -p "$jobs" -buildvcs=false -trimpath -ldflags "$(ldflags_of "$name")" -o "$out.partial/" $(commands_of "$name")) >&2
	mv "$out.partial" "$out"
	echo "cluster: built $name in $((SECONDS - start)) s" >&2
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9 # two checkouts must not build the same thing at once

all=""
for m in $modules; do
	h=$(hash_of "$m")
	[ -d "$cache/$m-$h" ] || build "$m" "$cache/$m-$h"
	all+="$m-$h "
done

bin=$cache/bin-$(echo "$all" | sha256sum | cut -c1-16)
mkdir -p "$bin"
for d in $all; do
	# Hard links: the node binds this one folder, and a link out of it would not resolve there.
	# Of programs of one name the last module's stays.
	ln -f "$cache/$d"/* "$bin/"
done
echo "$bin"
