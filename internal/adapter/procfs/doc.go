// SPDX-License-Identifier: Apache-2.0

// Package procfs owns what the kernel's pseudo files say of a node: processes
// (/proc), the CPU and memory of pods and the devices that containers can open
// (/sys/fs/cgroup and /proc/PID/root/dev), the host's memory.
//
// It reads and reports. To whom a cgroup path belongs is read by package
// workload, and who held what is package attribution's answer. Linux only.
//
// What is read how often. A sample must not cost a read of every file of every
// process, and must not take a reused PID for the process that had it:
//
//   - That a known process still lives is asked at every call. The kernel tells
//     it for all of them in one system call (watch); where it cannot, the stat
//     of each is read, and its start time tells a reused PID.
//   - A new process is read whole, and again at the next call, until two
//     readings agree: a runtime may still be moving it to its cgroup.
//   - After that it is read again after Refresh, or when something tells of a
//     change. Each process has its own time for that, so that a call reads some
//     of them and never all. A process that takes another name or runs another
//     program is so noticed after Refresh at the latest.
//   - Its environment is read once for each program that it runs: the kernel
//     keeps it where the program began, and the program may write over it.
//   - Reading whole ends when a call's Budget is used up; new processes come
//     before known ones, and the rest is for the next call. A new process that
//     was not reached is left out, which is unknown and not wrong.
//
// The files of a pod's cgroup are read at every call, and are kept open for
// that: an open one costs one system call instead of three.
package procfs
