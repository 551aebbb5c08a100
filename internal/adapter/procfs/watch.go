// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// watch tells which processes have ended, with one system call for all of them
// however many there are. It holds a descriptor of each (pidfd), which the
// kernel ties to the process and not to its number: whoever has the PID later
// does not keep it alive.
//
// Linux 5.3 has that, and only for processes of our own PID namespace. Without
// it watch holds nothing, and each process is asked for by its files.
type watch struct {
	limit int // how many may be held

	epoll  int         // waits for all of them; 0 before the first
	fds    map[int]int // descriptors by key, which is the PID in the host's /proc
	usable answer
}

// answer is what was found out once.
type answer int

const (
	notAsked answer = iota
	yes
	no
)

// maxWatched bounds the descriptors of one watch. The kernel takes about 1 KiB
// for each.
const maxWatched = 8192

// newWatch returns a watch that leaves two thirds of the descriptors that this
// process may have to others.
func newWatch() watch {
	w := watch{fds: map[int]int{}}
	var may unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &may) == nil {
		w.limit = int(min(may.Cur/3, maxWatched))
	}
	return w
}

// add begins to watch the process that has a PID now, unless that cannot be
// done. Who calls makes sure that it is the process meant: by its start time,
// read before and after.
func (w *watch) add(proc string, key int, s stat) {
	if w.has(key) || len(w.fds) >= w.limit || !w.ready(proc) {
		return
	}
	fd, err := unix.PidfdOpen(s.pid, 0)
	if err != nil {
		return
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(key)}
	if unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &event) != nil {
		_ = unix.Close(fd)
		return
	}
	w.fds[key] = fd
}

// ready makes what add needs, once.
func (w *watch) ready(proc string) bool {
	if w.usable == notAsked {
		w.usable = no
		if ourNamespace(proc) {
			w.usable = yes
		}
	}
	if w.usable == yes && w.epoll == 0 {
		fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return false
		}
		w.epoll = fd
	}
	return w.usable == yes
}

// ourNamespace reports whether the numbers in a /proc are those that this
// process would use: it finds itself there, under its own number, and in no
// PID namespace below.
func ourNamespace(proc string) bool {
	text, err := os.ReadFile(proc + "/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			return strings.TrimSpace(numbers) == strconv.Itoa(os.Getpid())
		}
	}
	return false
}

// has reports whether a process is watched. One that is, was alive when sweep
// was last called.
func (w *watch) has(key int) bool {
	_, ok := w.fds[key]
	return ok
}

// sweep drops what has ended. Where it cannot ask, it drops everything.
func (w *watch) sweep() {
	if w.epoll == 0 {
		return
	}
	var ended [64]unix.EpollEvent
	for {
		n, err := retry(func() (int, error) { return unix.EpollWait(w.epoll, ended[:], 0) })
		if err != nil {
			w.close()
			return
		}
		for _, e := range ended[:n] {
			w.drop(int(e.Fd))
		}
		if n < len(ended) {
			return
		}
	}
}

// drop no longer watches a process. Closing its descriptor, the only one, also
// ends the wait for it.
func (w *watch) drop(key int) {
	if fd, ok := w.fds[key]; ok {
		_ = unix.Close(fd)
		delete(w.fds, key)
	}
}

// keep drops all but the wanted.
func (w *watch) keep(wanted map[int]bool) {
	for key := range w.fds {
		if !wanted[key] {
			w.drop(key)
		}
	}
}

// close drops everything. The watch can be used again.
func (w *watch) close() {
	for key := range w.fds {
		w.drop(key)
	}
	if w.epoll != 0 {
		_ = unix.Close(w.epoll)
		w.epoll = 0
	}
}
