// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// surelyWhole: a pseudo file that gives less than this in one read has ended.
// The kernel stops short of a page only for a record that does not fit into
// the rest of it, and none is that long.
const surelyWhole = 1024

// readInto reads a whole file, up to limit bytes, reusing buf where it is
// large enough. It costs three system calls, where os.ReadFile makes more: it
// is called for each process of each sample.
func readInto(path string, buf []byte, limit int) ([]byte, error) {
	fd, err := retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }()
	buf = buf[:cap(buf)]
	n := 0
	for n < limit {
		if n == len(buf) {
			buf = append(buf, make([]byte, len(buf)+512)...)
		}
		m, err := retry(func() (int, error) { return syscall.Read(fd, buf[n:min(len(buf), limit)]) })
		if err != nil {
			return nil, &fs.PathError{Op: "read", Path: path, Err: err}
		}
		n += m
		if m == 0 || n < len(buf) && n < surelyWhole {
			break
		}
	}
	return buf[:n], nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}

// vanished reports whether an error means that the process or cgroup is no
// more: its file is missing, or went away while it was open.
func vanished(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.ENODEV)
}

// maxFile bounds the files that are read whole.
const maxFile = 1 << 20

// HostCPUs is how many CPUs of the host are online, by the lines cpuN of
// /proc/stat.
func (r *Reader) HostCPUs() (int, error) {
	path := r.opts.Proc + "/stat"
	text, err := readInto(path, nil, maxFile)
	if err != nil {
		return 0, fmt.Errorf("read host CPUs: %w", err)
	}
	n := 0
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("cpu")); ok && len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' {
			n++
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("read host CPUs: %s: no line cpu0", path)
	}
	return n, nil
}

// Capacity is what the host has of "cpu", in thousandths of a CPU, and "memory",
// in bytes, as a Kubernetes node names them.
func (r *Reader) Capacity() (map[string]int64, error) {
	cpus, err := r.HostCPUs()
	if err != nil {
		return nil, err
	}
	memory, err := r.HostMemory()
	if err != nil {
		return nil, err
	}
	return map[string]int64{"cpu": int64(cpus) * 1000, "memory": int64(memory)}, nil
}

// HostMemory is the host's memory in bytes, MemTotal of /proc/meminfo.
func (r *Reader) HostMemory() (uint64, error) {
	path := r.opts.Proc + "/meminfo"
	text, err := readInto(path, nil, maxFile)
	if err != nil {
		return 0, fmt.Errorf("read host memory: %w", err)
	}
	kib, ok := keyed(text, "MemTotal:")
	if !ok || kib > 1<<50 {
		return 0, fmt.Errorf("read host memory: %s: no MemTotal in kB", path)
	}
	return kib * 1024, nil
}
