#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Process 1 of the virtual machine: it lays out what an init system would, starts the
# node as on any machine, runs the tests inside and switches the machine off.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root NODE=/var/tmp/gputally-node.vm BIN=/vm/bin NODE_POLL=3
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t devtmpfs dev /dev
ln -s /proc/self/fd /dev/fd
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
ip link set lo up

mapfile -t arguments </vm/arguments
code=1
if /vm/node/up.sh < <(sleep infinity); then
	export GPUTALLY_CLUSTER_INSIDE=1 GPUTALLY_CLUSTER_PATIENCE=10m GPUTALLY_CLUSTER_INTERVAL=5s
	/vm/node/in.sh /run/node/cluster.test "${arguments[@]}"
	code=$?
fi
[ $code = 0 ] || for f in kubelet containerd device-plugin agent; do
	echo "--- the end of $f.log"
	tail -n 40 "$NODE/log/$f.log" 2>/dev/null
done
echo "vm: exit code $code"
sync
echo o >/proc/sysrq-trigger
sleep 60
