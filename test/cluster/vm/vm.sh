#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# vm.sh ARGUMENT...: runs the node and its tests in an emulated machine whose kernel has
# only cgroup v2. NODE is the prepared run folder, BIN the folder that build.sh printed;
# the arguments go to the test binary. The machine is emulated, not virtualised: it needs
# no /dev/kvm, and takes a few times as long.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${NODE:?}" "${BIN:?}"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/gputally/cluster/vm
work=$NODE/vm
mkdir -p "$cache" "$work"

for p in qemu-system-x86_64 busybox cpio depmod mke2fs; do
	command -v $p >/dev/null && continue
	echo "vm: $p is missing: apt-get install -y --no-install-recommends qemu-system-x86 seabios busybox-static cpio kmod e2fsprogs" >&2
	exit 1
done

# Debian's kernel for clouds: downloaded and unpacked, never installed.
kernel() {
	local deb
	if ! ls "$cache"/kernel/boot/vmlinuz-* >/dev/null 2>&1; then
		(cd "$cache" && apt-get download "$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends:/ { print $2 }')" >/dev/null 2>&1)
		deb=$(ls "$cache"/linux-image-*.deb | tail -1)
		rm -rf "$cache/kernel.partial"
		dpkg-deb -x "$deb" "$cache/kernel.partial"
		depmod -b "$cache/kernel.partial" "$(ls "$cache/kernel.partial/lib/modules")"
		mv "$cache/kernel.partial" "$cache/kernel"
	fi
}

initramfs() {
	local version i=10 module root=$work/initramfs
	version=$(ls "$cache/kernel/lib/modules")
	mkdir -p "$root"/{bin,proc,dev,root,modules}
	cp "$(command -v busybox)" "$root/bin/busybox"
	cp "$here/initramfs.sh" "$root/init"
	for module in virtio_pci virtio_blk crc32c_generic ext4 overlay veth bridge; do
		modprobe -d "$cache/kernel" -S "$version" --show-depends $module | awk '$1 == "insmod" { print $2 }'
	done | awk '!seen[$0]++' | while read -r file; do
		cp "$file" "$root/modules/$i-$(basename "$file")"
		i=$((i + 1))
	done
	(cd "$root" && find . | cpio -o -H newc --quiet) >"$work/initramfs.cpio"
}

# Programs of this machine, with the libraries they load.
host_programs="bash sh cat cp mkdir ln rm rmdir mv chmod touch ls date sleep seq tr tail head dirname basename setsid mknod
	mount umount unshare nsenter ip hostname pgrep grep sed awk find openssl curl etcd runc sync env sha256sum ps ldconfig"

copy_with_libraries() { # TO FILE...
	local to=$1 f
	shift
	for f in "$@"; do
		echo "$f"
		ldd "$f" 2>/dev/null | grep -o '/[^ ]*' || true
	done | sort -u | while read -r f; do
		mkdir -p "$to$(dirname "$f")"
		cp -L "$f" "$to$f"
	done
}

disk() {
	local root=$work/root p
	mkdir -p "$root"/{proc,sys,dev,run,tmp,mnt,root,var/log,var/lib,var/tmp/gputally-node.vm,vm/bin,usr/bin,usr/sbin,usr/lib,usr/lib64,etc}
	for p in bin sbin lib lib64; do ln -s usr/$p "$root/$p"; done
	ln -s /run "$root/var/run"
	# shellcheck disable=SC2046 # one path per program
	copy_with_libraries "$root" $(for p in $host_programs; do command -v "$p"; done) /usr/lib/cni/bridge /usr/lib/cni/host-local /usr/lib/cni/loopback \
		"$BIN"/* "$NODE/gputally"/* "$NODE/cluster.test"
	rm -rf "${root:?}/$BIN" "${root:?}/$NODE" # their libraries are copied, they themselves lie elsewhere
	cp "$BIN"/* "$root/vm/bin/"
	cp -r "$NODE"/{images,gputally,libnvidia-ml.so.1,cluster.test} "$root/var/tmp/gputally-node.vm/"
	cp -r "$here/../node" "$root/vm/node"
	cp "$here/machine.sh" "$root/vm/"
	printf 'root:x:0:0:root:/root:/bin/bash\n' >"$root/etc/passwd"
	printf 'root:x:0:\n' >"$root/etc/group"
	printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
	: >"$root/etc/resolv.conf"
	cp /etc/nsswitch.conf "$root/etc/" 2>/dev/null || true
	mkdir -p "$root/etc/ssl" && cp -L /etc/ssl/openssl.cnf "$root/etc/ssl/" 2>/dev/null || true
	printf '%s\n' "$@" >"$root/vm/arguments"
	truncate -s 4G "$work/disk"
	mke2fs -q -t ext4 -d "$root" "$work/disk"
	rm -rf "$root"
}

kernel
initramfs
disk "$@"
echo "vm: machine prepared after $SECONDS s" >&2
qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 3072 -nographic -no-reboot -nic none \
	-kernel "$(ls "$cache"/kernel/boot/vmlinuz-*)" -initrd "$work/initramfs.cpio" -append 'console=ttyS0 quiet panic=-1' \
	-drive "file=$work/disk,format=raw,if=virtio,cache=unsafe" </dev/null | sed -u 's/\r//g' | tee "$work/console"
grep -q '^vm: exit code 0$' "$work/console"
