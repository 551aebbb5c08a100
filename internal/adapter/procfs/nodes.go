// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// nodeStat is what lstat says of a device node.
type nodeStat struct {
	dir, char    bool
	major, minor int
	device       uint64 // of the file system that the node is in
}

func lstatNode(path string) (nodeStat, error) {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return nodeStat{}, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	return nodeStat{
		dir:    st.Mode&syscall.S_IFMT == syscall.S_IFDIR,
		char:   st.Mode&syscall.S_IFMT == syscall.S_IFCHR,
		major:  int(unix.Major(st.Rdev)),
		minor:  int(unix.Minor(st.Rdev)),
		device: st.Dev,
	}, nil
}

// maxNodes bounds how much of a container's /dev is looked at: what is in it
// is the container's business.
const maxNodes = 4096

// visible are the GPU device nodes in a container's /dev.
type visible struct {
	minors []int
	// fromHost are the minors whose node lies in the host's own /dev: it was
	// mounted, and the runtime need not have allowed it.
	fromHost map[int]bool
	caps     []int // numbers of nvidia-caps/nvidia-capN, for MIG
}

// visibleNodes lists dev, which is a container's /dev seen through
// /proc/PID/root. Links in it are not followed: they would lead out of it.
func (r *Reader) visibleNodes(dev string, major int) (visible, error) {
	v := visible{fromHost: map[int]bool{}}
	names, err := r.listDirectory(dev)
	if err != nil {
		return v, err
	}
	host, hostErr := r.lstat(r.path(1, "root/dev"))
	for _, name := range names {
		if !strings.HasPrefix(name, "nvidia") {
			continue
		}
		st, err := r.lstat(dev + "/" + name)
		if err != nil || !st.char || st.major != major || st.minor >= firstControl || slices.Contains(v.minors, st.minor) {
			continue
		}
		v.minors = append(v.minors, st.minor)
		v.fromHost[st.minor] = hostErr == nil && st.device == host.device
	}
	slices.Sort(v.minors)
	v.caps = r.capNodes(dev + "/nvidia-caps")
	return v, nil
}

// firstControl is the lowest minor that is no GPU: 254 is nvidia-modeset, 255
// is nvidiactl.
const firstControl = 254

func (r *Reader) capNodes(dir string) []int {
	names, err := r.listDirectory(dir)
	if err != nil {
		return nil
	}
	var caps []int
	for _, name := range names {
		number, ok := strings.CutPrefix(name, "nvidia-cap")
		if n, err := strconv.Atoi(number); ok && err == nil {
			caps = append(caps, n)
		}
	}
	slices.Sort(caps)
	return caps
}

func (r *Reader) listDirectory(path string) ([]string, error) {
	st, err := r.lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.dir {
		return nil, &os.PathError{Op: "list", Path: path, Err: syscall.ENOTDIR}
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	names, err := dir.Readdirnames(maxNodes)
	if len(names) > 0 {
		return names, nil
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return nil, nil
}
