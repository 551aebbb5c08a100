#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# inner.sh is process 1 of the node. It lays out a machine with GPUs on top of the
# host's files without touching them (its own /proc, /sys/fs/cgroup, /dev, /run, /tmp;
# overlays on /etc, /var/lib, /var/log), and then only reaps dead processes and waits.
# Inside the node the run folder is always /run/node.
set -euo pipefail
. "$(cd "$(dirname "$0")" && pwd)/cgroup.sh"

mount -t proc proc /proc
mount --make-rshared /
hostname gpu-node-1

# The cgroup namespace makes our subtree look like the root, as on a real node.
lay_cgroups() {
	if cgroup_v2; then
		umount -l /sys/fs/cgroup
		mount -t cgroup2 cgroup2 /sys/fs/cgroup
		cgroup_delegate /sys/fs/cgroup
		return
	fi
	local have c
	have=$(cd /sys/fs/cgroup && ls)
	umount -R -l /sys/fs/cgroup
	mount -t tmpfs -o mode=755 cgroup /sys/fs/cgroup
	for c in $have; do
		mkdir "/sys/fs/cgroup/$c"
		case $c in
		systemd) mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd ;;
		unified) mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified ;;
		*) mount -t cgroup -o "$c" cgroup "/sys/fs/cgroup/$c" || rmdir "/sys/fs/cgroup/$c" ;;
		esac
	done
}

lay_folders() {
	local d name
	for d in /etc /var/lib /var/log; do
		name=${d//\//_}
		mkdir -p "$NODE/fs/$name" "$NODE/fs/work$name"
		mount -t overlay -o "lowerdir=$d,upperdir=$NODE/fs/$name,workdir=$NODE/fs/work$name" overlay $d
	done
	# Images lie in an overlay themselves, and an overlay cannot hold another's upper folder.
	mkdir -p "$NODE/fs/containerd" "$NODE/fs/kubelet" /var/lib/containerd /var/lib/kubelet
	mount --bind "$NODE/fs/containerd" /var/lib/containerd
	mount --bind "$NODE/fs/kubelet" /var/lib/kubelet
	mkdir -p "$NODE/bin"
	mount --bind "$BIN" "$NODE/bin"
	mount -t tmpfs -o mode=755 run /run
	mkdir /run/node
	mount --rbind "$NODE" /run/node
	mount -t tmpfs tmp /tmp
}

# The kubelet sets these host-wide values. It gets files to write, the host keeps its own.
lay_sysctls() {
	local kv f
	mkdir /run/sysctl
	for kv in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
		kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
		f=/run/sysctl/${kv//[\/=]/_}
		echo "${kv#*=}" >"$f"
		mount --bind "$f" "/proc/sys/${kv%=*}"
	done
}

lay_devices() {
	local n i
	mkdir /run/dev
	mount -t tmpfs -o mode=755,dev dev /run/dev
	for n in null zero full random urandom tty fuse kmsg; do
		[ ! -e /dev/$n ] || cp -a /dev/$n /run/dev/
	done
	mkdir /run/dev/pts /run/dev/shm /run/dev/mqueue /run/dev/nvidia-caps
	mount --bind /dev/pts /run/dev/pts
	mount -t tmpfs shm /run/dev/shm
	ln -s /proc/self/fd /run/dev/fd
	ln -s pts/ptmx /run/dev/ptmx
	mknod -m 666 /run/dev/nvidiactl c 195 255
	mknod -m 666 /run/dev/nvidia-modeset c 195 254
	mknod -m 666 /run/dev/nvidia-uvm c 510 0
	mknod -m 666 /run/dev/nvidia-uvm-tools c 510 1
	for i in 0 1; do mknod -m 666 /run/dev/nvidia$i c 195 $i; done
	for i in 66 67 68 69; do mknod -m 444 /run/dev/nvidia-caps/nvidia-cap$i c 237 $i; done
	mount --rbind /run/dev /dev
}

lay_network() {
	ip link set lo up
	ip link add eth0 type veth peer name eth0p
	ip link set eth0p up
	ip addr add 10.10.0.1/24 dev eth0
	ip link set eth0 up
	ip route add default via 10.10.0.254 dev eth0
	echo 1 >/proc/sys/net/ipv4/ip_forward
}

# What the NVIDIA driver puts on a machine: a driver root with its libraries (all of
# them our mock), and its corner of /proc. MIG instances appear there as files too.
lay_driver() {
	local v=570.172.08 lib=/run/nvidia/driver/usr/lib64 l
	mkdir -p $lib /run/nvidia/driver/usr/bin /run/nvidia/mps/nvidia.com/gpu/pipe /run/nvidia/mps/shm /run/mock-nvml
	for l in libnvidia-ml libcuda; do
		cp /run/node/libnvidia-ml.so.1 $lib/$l.so.$v
		ln -s $l.so.$v $lib/$l.so.1
	done
	printf '#!/bin/sh\necho no nvidia-smi on this node\n' >/run/nvidia/driver/usr/bin/nvidia-smi
	chmod +x /run/nvidia/driver/usr/bin/nvidia-smi
	mount -t tmpfs driver /proc/driver
	mkdir -p /proc/driver/nvidia/capabilities /proc/driver/nvidia-caps
	echo "NVRM version: NVIDIA UNIX x86_64 Kernel Module  $v" >/proc/driver/nvidia/version
}

lay_cgroups
lay_folders
lay_sysctls
lay_devices
lay_network
lay_driver
touch /run/node/ready

# The node lives as long as whoever started it holds the other end of our standard input.
# Meanwhile bash reaps the processes that daemons leave behind.
read -r _ || true
