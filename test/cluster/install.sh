#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh installs, on Debian or Ubuntu, what the test node takes from the distribution.
# It starts no service. Where everything is there it does nothing.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
missing=""
need() { command -v "$1" >/dev/null || missing+=" $2"; }
need etcd etcd-server
need runc runc
need /usr/lib/cni/bridge containernetworking-plugins
need ip iproute2
need openssl openssl
need curl curl
need pgrep procps
need gcc "gcc libc6-dev"
need g++ g++ # the image's programs
need nft nftables # kube-proxy
need make make
if [ -n "$missing" ]; then
	apt-get update -qq
	# shellcheck disable=SC2086 # a list
	apt-get install -y -qq --no-install-recommends $missing
fi
