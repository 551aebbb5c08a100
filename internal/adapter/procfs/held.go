// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// held is a pseudo file of a cgroup that is kept open: to read it again costs
// one system call instead of three. Once the cgroup is removed reading fails,
// even where another is made under its name.
//
// Ordinary files are not kept: they outlive the directory entry that a test
// removes.
type held struct {
	path string
	fd   int // 0: not open
}

// maxHeld bounds how many are open at a time; files above it are opened and
// closed for each reading.
const maxHeld = 1024

// holder opens held files, and counts those that are open.
type holder struct{ open int }

// read reads the whole file into buf, or a larger one.
func (h *holder) read(f *held, buf []byte) ([]byte, error) {
	if f.fd != 0 {
		if text, ok := reread(f.fd, buf[:cap(buf)]); ok {
			return text, nil
		}
		h.release(f)
	}
	if h.open < maxHeld {
		h.hold(f)
	}
	if f.fd != 0 {
		if text, ok := reread(f.fd, buf[:cap(buf)]); ok {
			return text, nil
		}
	}
	return readInto(f.path, buf, maxFile)
}

// reread reads an open file from its beginning. The kernel makes the text of
// such a file as a whole, so less than there is room for is all of it.
func reread(fd int, buf []byte) ([]byte, bool) {
	for len(buf) <= maxFile {
		n, err := retry(func() (int, error) { return syscall.Pread(fd, buf, 0) })
		if err != nil {
			return nil, false
		}
		if n < len(buf) {
			return buf[:n], true
		}
		buf = make([]byte, 2*len(buf)+512)
	}
	return nil, false
}

// cgroupFiles are the file systems of cgroups, v1 and v2.
var cgroupFiles = []int64{unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC}

// hold opens a file to be read again, where it is one of a cgroup.
func (h *holder) hold(f *held) {
	fd, err := retry(func() (int, error) { return syscall.Open(f.path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return
	}
	var fs unix.Statfs_t
	if fd == 0 || unix.Fstatfs(fd, &fs) != nil || !slices.Contains(cgroupFiles, int64(fs.Type)) {
		_ = syscall.Close(fd)
		return
	}
	f.fd = fd
	h.open++
}

// release closes what is held.
func (h *holder) release(f *held) {
	if f.fd != 0 {
		_ = syscall.Close(f.fd)
		f.fd = 0
		h.open--
	}
}
