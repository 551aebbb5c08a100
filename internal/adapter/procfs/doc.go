// SPDX-License-Identifier: Apache-2.0

// Package procfs owns what the kernel's pseudo files say of a node: processes
// (/proc), the CPU and memory of pods and the devices that containers can open
// (/sys/fs/cgroup and /proc/PID/root/dev), the host's memory.
//
// It reads and reports. To whom a cgroup path belongs is read by package
// workload, and who held what is package attribution's answer. Linux only.
package procfs
