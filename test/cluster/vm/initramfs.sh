#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# Process 1 of the initial file system: it loads the kernel modules that the machine
# needs, in the order in which they lie there, and goes on with the disk.
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
for m in /modules/*; do
	/bin/busybox insmod "$m" || echo "vm: cannot load $m"
done
/bin/busybox mount -t ext4 /dev/vda /root || { echo "vm: cannot mount the disk"; /bin/busybox poweroff -f; }
exec /bin/busybox switch_root /root /vm/machine.sh
