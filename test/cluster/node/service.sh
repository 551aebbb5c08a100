#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# service.sh start|ensure|stop|kill NAME: one daemon of the node (inside the node); ensure
# starts it only if it does not run, and stop asks it to end where kill does not. Its output
# goes to /run/node/log/NAME.log, its process id to /run/node/pid/NAME.
# PLUGIN_CONFIG is the device plugin's configuration file, MIG_STRATEGY its MIG strategy.
set -euo pipefail
cd /run/node
verb=${1:?start, ensure, stop or kill} name=${2:?name of a daemon}
bin=/run/node/bin driver=/run/nvidia/driver
api=(--kubeconfig="/run/node/kubeconfig/$name")

# The device plugin and the DRA driver look for NVML both by these and by the loader's path.
driver_environment() {
	export LD_LIBRARY_PATH=$driver/usr/lib64 NVIDIA_DRIVER_ROOT=$driver DRIVER_ROOT_CTR_PATH=$driver
	export NVIDIA_DEV_ROOT=/ MOCK_NVML_STATE=/run/mock-nvml/state
}

run() { # replaces this shell
	case $name in
	etcd)
		exec etcd --data-dir /run/etcd --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
			--listen-peer-urls http://127.0.0.1:2380 --log-level warn --unsafe-no-fsync
		;;
	containerd)
		PATH=$bin:$PATH exec $bin/containerd -c scripts/config/containerd.toml
		;;
	apiserver)
		exec $bin/kube-apiserver --etcd-servers=http://127.0.0.1:2379 --cert-dir=tls --secure-port=6443 \
			--bind-address=0.0.0.0 --advertise-address=10.10.0.1 --service-cluster-ip-range=10.96.0.0/16 \
			--service-account-issuer=https://kubernetes.default.svc --service-account-signing-key-file=tls/service-accounts.key \
			--service-account-key-file=tls/service-accounts.pub --token-auth-file=tls/tokens.csv --authorization-mode=Node,RBAC \
			--allow-privileged=true --kubelet-preferred-address-types=InternalIP
		;;
	controller-manager)
		exec $bin/kube-controller-manager "${api[@]}" --service-account-private-key-file=tls/service-accounts.key \
			--use-service-account-credentials=true --leader-elect=false --node-monitor-grace-period=20m \
			--root-ca-file=tls/apiserver.crt
		;;
	scheduler)
		exec $bin/kube-scheduler "${api[@]}" --leader-elect=false
		;;
	kubelet)
		exec $bin/kubelet "${api[@]}" --config=scripts/config/kubelet.yaml --hostname-override=gpu-node-1 --node-ip=10.10.0.1 --v=2
		;;
	kube-proxy)
		exec $bin/kube-proxy --config=scripts/config/kube-proxy.yaml
		;;
	coredns)
		exec $bin/coredns -conf scripts/config/Corefile
		;;
	device-plugin)
		driver_environment
		export PASS_DEVICE_SPECS=true MIG_STRATEGY=${MIG_STRATEGY:-none} MPS_ROOT=/run/nvidia/mps
		PATH=/run/node/scripts/fakebin:$PATH exec $bin/nvidia-device-plugin --config-file="${PLUGIN_CONFIG:?}"
		;;
	dra-driver)
		driver_environment
		mkdir -p /var/lib/kubelet/plugins/gpu.nvidia.com /var/lib/kubelet/plugins_registry /var/run/cdi
		export ALT_PROC_DEVICES_PATH=/run/node/scripts/config/proc-devices KUBECONFIG=/run/node/kubeconfig/admin NODE_NAME=gpu-node-1 \
			NAMESPACE=default CDI_ROOT=/var/run/cdi NVIDIA_CDI_HOOK_PATH=$bin/nvidia-cdi-hook IMAGE_NAME=none
		exec $bin/gpu-kubelet-plugin --kubeconfig=$KUBECONFIG -v 4 --feature-gates=TimeSlicingSettings=true,MPSSupport=true
		;;
	*)
		echo "service: no daemon is named $name" >&2
		exit 2
		;;
	esac
}

end() { # SIGNAL: sends it and waits until the process is gone
	local pid i
	pid=$(cat "pid/$name" 2>/dev/null) || return 0
	kill "-$1" "$pid" 2>/dev/null || true
	for ((i = 0; i < 100; i++)); do
		kill -0 "$pid" 2>/dev/null || { rm -f "pid/$name"; return 0; }
		sleep 0.1
	done
	echo "service: $name did not end within 10 s of signal $1" >&2
	return 1
}

runs() { kill -0 "$(cat "pid/$name" 2>/dev/null || echo none)" 2>/dev/null; }

begin() {
	run </dev/null >>"log/$name.log" 2>&1 &
	echo $! >"pid/$name"
}

case $verb in
start)
	! runs || { echo "service: $name already runs" >&2; exit 1; }
	begin
	;;
ensure) runs || begin ;;
stop) end TERM ;;
kill) end KILL ;;
*)
	echo "service: start, ensure, stop or kill, not $verb" >&2
	exit 2
	;;
esac
