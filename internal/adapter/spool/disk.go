// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// disk is what the writer needs of a file system.
type disk interface {
	// openSegment opens a segment file to write, creating it if need be.
	openSegment(path string) (file, error)
	remove(path string) error
}

type file interface {
	io.WriterAt
	Truncate(size int64) error
	Sync() error
	Close() error
}

type realDisk struct{}

func (realDisk) openSegment(path string) (file, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
}

func (realDisk) remove(path string) error { return os.Remove(path) }

// isFull reports whether the disk, or our quota of it, has no room.
func isFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG)
}
