// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// held is an open /proc/PID/stat. To read it again costs one system call
// instead of three, and the kernel ties it to the process, not to the number:
// once that one has ended, reading fails, whoever has its PID by then.
//
// The zero value holds nothing. Ordinary files are never held: they outlive
// the directory entry that a test removes.
type held struct{ fd int }

// maxHeld bounds how many are open at a time; processes above it are read by
// their path.
const maxHeld = 1024

// holder opens held files, and counts those that are open.
type holder struct{ open int }

// hold opens path to be read again, where it is a file of the kernel's /proc.
func (h *holder) hold(f *held, path string) {
	if f.fd != 0 || h.open >= maxHeld {
		return
	}
	fd, err := retry(func() (int, error) { return syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0) })
	if err != nil {
		return
	}
	var fs unix.Statfs_t
	if fd == 0 || unix.Fstatfs(fd, &fs) != nil || fs.Type != unix.PROC_SUPER_MAGIC {
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

// read reads the file from its beginning into buf, which must be large enough
// for a whole one.
func (f held) read(buf []byte) ([]byte, error) {
	n, err := retry(func() (int, error) { return syscall.Pread(f.fd, buf, 0) })
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}
