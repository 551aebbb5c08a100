# SPDX-License-Identifier: Apache-2.0
# cgroup.sh is sourced by the scripts that run on the host: where the node's
# cgroup subtree lies. NODE is the run folder; its name is the subtree's name.
case ${NODE:?run folder of the node} in
/*/gputally-node.*) ;; # down.sh deletes it: nothing else may be taken for a run folder
*) echo "node: NODE must be an absolute path that ends in /gputally-node.SOMETHING, not $NODE" >&2; exit 2 ;;
esac
cgroup_root=/sys/fs/cgroup
cgroup_name=$(basename "$NODE")

cgroup_v2() { [ -f $cgroup_root/cgroup.controllers ]; }

# On a machine with cgroup v1 every controller is a hierarchy of its own, and all
# must be joined: a process outside one of them shows paths like "/..".
cgroup_hierarchies() {
	if cgroup_v2; then
		echo $cgroup_root
		return
	fi
	local c
	for c in cpu cpuacct cpuset memory devices freezer blkio pids systemd unified; do
		if [ -d $cgroup_root/$c ]; then echo $cgroup_root/$c; fi
	done
}

# cgroup_delegate FOLDER: lets the children of a v2 cgroup use every controller it has.
cgroup_delegate() {
	local c
	for c in $(cat "$1/cgroup.controllers"); do
		echo "+$c" >"$1/cgroup.subtree_control" 2>/dev/null || true # some cannot be delegated
	done
}

cgroup_make() {
	local h
	for h in $(cgroup_hierarchies); do
		mkdir -p "$h/$cgroup_name" || return 1
		case $h in
		*/cpuset) # a new cpuset is empty and accepts no process until it is filled
			cat "$h/cpuset.cpus" >"$h/$cgroup_name/cpuset.cpus"
			cat "$h/cpuset.mems" >"$h/$cgroup_name/cpuset.mems"
			;;
		*/memory) echo 1 >"$h/$cgroup_name/memory.use_hierarchy" 2>/dev/null || true ;;
		esac
	done
	if cgroup_v2; then # only leaves may hold processes: the node's own live in one named host
		cgroup_delegate $cgroup_root
		mkdir -p "$cgroup_root/$cgroup_name/host"
	fi
}

cgroup_join() { # [LEAF]: moves this shell into the subtree, or into a leaf of it
	local h
	for h in $(cgroup_hierarchies); do
		echo $$ >"$h/$cgroup_name/${1:-}/cgroup.procs" || return 1
	done
}

cgroup_join_host() { # where the node's host processes live
	if cgroup_v2; then cgroup_join host; else cgroup_join; fi
}

cgroup_remove() { # the processes must be dead; the kernel may need a moment to let them go
	local h i
	for h in $(cgroup_hierarchies); do
		[ -d "$h/$cgroup_name" ] || continue
		for i in 1 2 3 4 5 6 7 8 9 10; do
			find "$h/$cgroup_name" -depth -type d -exec rmdir {} + 2>/dev/null || true
			[ -d "$h/$cgroup_name" ] || break
			sleep 0.2
		done
		[ ! -d "$h/$cgroup_name" ] || { echo "node: could not remove $h/$cgroup_name" >&2; return 1; }
	done
}
