// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"sync"
	"time"
)

// Options configure a Reader. The zero value reads this host.
type Options struct {
	// Proc is where the host's /proc is mounted; /proc if empty.
	Proc string
	// Cgroup is where the host's cgroup hierarchies are mounted, v1 or v2;
	// /sys/fs/cgroup if empty.
	Cgroup string
	// Passwd, if set, is the file that names users (/etc/passwd). Only a
	// host without Kubernetes needs names: holders there are users too.
	Passwd string
	// Grace is how long a vanished process is remembered; 10 min if zero.
	Grace time.Duration
	// MaxKept bounds how many processes are remembered; 8192 if zero.
	MaxKept int
	// Refresh is how often the files of a steady process are read again; 60 s
	// if zero.
	Refresh time.Duration
	// Budget is how long one call of Processes may go on reading processes
	// whole; without end if zero.
	Budget time.Duration
	// ReachScan is how often Reach looks for new containers (15 s if zero);
	// ReachRefresh how often it looks again at a known one (60 s if zero).
	ReachScan    time.Duration
	ReachRefresh time.Duration
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	text := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	span := func(p *time.Duration, v time.Duration) {
		if *p <= 0 {
			*p = v
		}
	}
	text(&o.Proc, "/proc")
	text(&o.Cgroup, "/sys/fs/cgroup")
	span(&o.Grace, 10*time.Minute)
	span(&o.Refresh, time.Minute)
	span(&o.ReachScan, 15*time.Second)
	span(&o.ReachRefresh, time.Minute)
	if o.MaxKept <= 0 {
		o.MaxKept = 8192
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Reader reads the pseudo files of one host. It is safe for concurrent use.
type Reader struct {
	opts  Options
	users users
	lstat func(path string) (nodeStat, error)

	mu    sync.Mutex // guards what follows
	known map[int]*known
	alive watch // of the known ones that were asked for last
	last  lastAnswer
	buf   []byte

	usageMu sync.Mutex // guards what follows
	pods    podFinder
	files   map[string]*podFiles // by cgroup
	holder  holder

	reachMu sync.Mutex // guards reach
	reach   reachCache
}

// New returns a reader. It opens nothing yet. Close it.
func New(opts Options) *Reader {
	opts = opts.withDefaults()
	return &Reader{
		opts:  opts,
		users: users{path: opts.Passwd},
		lstat: lstatNode,
		known: map[int]*known{},
		alive: newWatch(),
		buf:   make([]byte, 4096),
		files: map[string]*podFiles{},
		reach: reachCache{alive: newWatch()},
	}
}
