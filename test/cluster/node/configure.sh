#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# configure.sh writes the configuration of the node's daemons (inside the node).
set -euo pipefail
cd /run/node
mkdir -p kubeconfig tls /etc/cdi /etc/nvidia-container-runtime /etc/cni/net.d

openssl genrsa -out tls/service-accounts.key 2048 2>/dev/null
openssl rsa -in tls/service-accounts.key -pubout -out tls/service-accounts.pub 2>/dev/null

# name, user and group of everybody who speaks to the API server
users="admin admin system:masters
kubelet system:node:gpu-node-1 system:nodes
controller-manager system:kube-controller-manager -
scheduler system:kube-scheduler -
kube-proxy system:kube-proxy -
coredns coredns -
agent gputally-agent -"

uid=0
while read -r name user group; do
	uid=$((uid + 1))
	[ "$group" = - ] && group=""
	echo "$name-token,$user,$uid,\"$group\"" >>tls/tokens.csv
	cat >"kubeconfig/$name" <<KUBECONFIG
apiVersion: v1
kind: Config
clusters: [{name: node, cluster: {server: "https://10.10.0.1:6443", certificate-authority: /run/node/tls/apiserver.crt}}]
users: [{name: $name, user: {token: $name-token}}]
contexts: [{name: node, context: {cluster: node, user: $name}}]
current-context: node
KUBECONFIG
done <<<"$users"

cp scripts/config/cni.conflist /etc/cni/net.d/10-node.conflist
cp scripts/config/nvidia-container-runtime.toml /etc/nvidia-container-runtime/config.toml

# Before 1.31 the kubelet took cgroup v1 without being asked, and kube-proxy had nftables
# only where asked.
minor=$(bin/kubelet --version | sed -n 's/^Kubernetes v1\.\([0-9]*\).*/\1/p')
if [ "$minor" -lt 31 ]; then
	sed -i '/^failCgroupV1:/d' scripts/config/kubelet.yaml
	echo 'featureGates: {NFTablesProxyMode: true}' >>scripts/config/kube-proxy.yaml
fi
