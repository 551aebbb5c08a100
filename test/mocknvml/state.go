// SPDX-License-Identifier: Apache-2.0

package mocknvml

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// EnvState is the environment variable that tells the library where its state is.
const EnvState = "MOCK_NVML_STATE"

// State composes a state file and writes it in one step, so that a reader sees
// the old or the new one and nothing between. README.md lists every line and key.
// All methods may be called from several goroutines.
type State struct {
	mu    sync.Mutex
	path  string
	lines []*Line
	gpus  int
	seq   uint64
	// stamped is the modification time of the last file written.
	stamped time.Time
}

// Line is one line of the state file. Change it and write the state again.
type Line struct {
	state  *State
	word   string
	keys   []string
	values map[string]string
	index  int // of a gpu line: the GPU's index
}

// NewState composes a state that will be written to path. Nothing is written yet.
func NewState(path string) *State {
	return &State{path: path}
}

// TestState is a state in a temporary folder of the test, with [EnvState] set to
// it for the test's duration.
func TestState(t testing.TB) *State {
	t.Helper()
	s := NewState(filepath.Join(t.TempDir(), "state"))
	t.Setenv(EnvState, s.path)
	return s
}

// Path is where the state is written.
func (s *State) Path() string { return s.path }

// Env is the environment entry for a child process that loads the library.
func (s *State) Env() string { return EnvState + "=" + s.path }

// Add adds a line: its word (gpu, proc, ...) and `key=value` pairs or bare values.
func (s *State) Add(word string, pairs ...string) *Line {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &Line{state: s, word: word, values: map[string]string{}}
	for _, p := range pairs {
		key, value, ok := strings.Cut(p, "=")
		if !ok {
			key, value = "", p
		}
		l.set(key, value)
	}
	s.lines = append(s.lines, l)
	return l
}

// Driver sets the driver version; "none" is a driver that is not loaded.
func (s *State) Driver(version string) {
	s.mu.Lock()
	for _, l := range s.lines {
		if l.word == "driver" {
			l.set("", version)
			s.mu.Unlock()
			return
		}
	}
	s.mu.Unlock()
	s.Add("driver", version)
}

// Option sets a global option, for example Option("reap=1").
func (s *State) Option(pairs ...string) *Line { return s.Add("option", pairs...) }

// GPU adds a GPU of a device profile ("a100-40gb"). Its UUID is [UUID] of its
// index unless the pairs have one.
func (s *State) GPU(profile string, pairs ...string) *Line {
	s.mu.Lock()
	index := s.gpus
	s.gpus++
	s.mu.Unlock()
	defaults := []string{"profile=" + profile, "uuid=" + UUID(index)}
	l := s.Add("gpu", append(defaults, pairs...)...)
	l.index = index
	return l
}

// MIG adds a MIG device to a GPU. Its UUID is [MIGUUID] of its ids.
func (s *State) MIG(gpu *Line, profile string, gi, ci int, pairs ...string) *Line {
	l := s.Add("mig", append([]string{
		"gpu=" + strconv.Itoa(gpu.index), "uuid=" + MIGUUID(gpu.index, gi, ci),
		"gi=" + strconv.Itoa(gi), "ci=" + strconv.Itoa(ci), "profile=" + profile,
	}, pairs...)...)
	return l
}

// Proc adds a process that holds bytes of a GPU's memory. On a GPU in MIG mode
// give gi= and ci= of its MIG device.
func (s *State) Proc(gpu *Line, pid int, bytes uint64, pairs ...string) *Line {
	return s.Add("proc", append([]string{
		"gpu=" + strconv.Itoa(gpu.index), "pid=" + strconv.Itoa(pid),
		"mem=" + strconv.FormatUint(bytes, 10),
	}, pairs...)...)
}

// Sample adds a utilization sample of a process that is in no process list.
func (s *State) Sample(gpu *Line, pid int, pairs ...string) *Line {
	return s.Add("sample", append([]string{"gpu=" + strconv.Itoa(gpu.index), "pid=" + strconv.Itoa(pid)}, pairs...)...)
}

// Acct adds the accounting record of an ended process: maxmem= bytes, time= ms,
// start= µs since 1970, util= and memutil= percent.
func (s *State) Acct(gpu *Line, pid int, pairs ...string) *Line {
	return s.Add("acct", append([]string{"gpu=" + strconv.Itoa(gpu.index), "pid=" + strconv.Itoa(pid)}, pairs...)...)
}

// GPM sets performance metrics of a GPU or, with gi=, of a GPU instance:
// GPM(g, "sm=37.5", "tensor=20").
func (s *State) GPM(gpu *Line, pairs ...string) *Line {
	return s.Add("gpm", append([]string{"gpu=" + strconv.Itoa(gpu.index)}, pairs...)...)
}

// XID adds an XID event with the next sequence number.
func (s *State) XID(gpu *Line, xid int, pairs ...string) *Line {
	return s.Event(gpu, append([]string{"xid=" + strconv.Itoa(xid)}, pairs...)...)
}

// Event adds an event with the next sequence number; give type= and data=.
func (s *State) Event(gpu *Line, pairs ...string) *Line {
	s.mu.Lock()
	s.seq++
	seq := s.seq
	s.mu.Unlock()
	return s.Add("event", append([]string{
		"gpu=" + strconv.Itoa(gpu.index), "seq=" + strconv.FormatUint(seq, 10),
	}, pairs...)...)
}

// Fault makes calls fail: kind as in README.md ("lost", "hang", "slow:250"), call
// a function name with * and ? ("*" for all). A nil gpu means every call, also
// those that are about no GPU.
func (s *State) Fault(gpu *Line, kind, call string, pairs ...string) *Line {
	all := []string{"kind=" + kind, "call=" + call}
	if gpu != nil {
		all = append(all, "gpu="+strconv.Itoa(gpu.index))
	}
	return s.Add("fault", append(all, pairs...)...)
}

// Write writes the state: to a new file beside the old one, then renamed over it.
func (s *State) Write() error {
	text := s.Bytes()
	f, err := os.CreateTemp(filepath.Dir(s.path), ".state-")
	if err != nil {
		return fmt.Errorf("write mock NVML state: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = s.stamp(f.Name())
	}
	if err == nil {
		err = os.Rename(f.Name(), s.path)
	}
	if err != nil {
		return fmt.Errorf("write mock NVML state: %w", err)
	}
	return nil
}

// stamp gives every file its own modification time. The kernel's clock for files
// moves only every few milliseconds and inode numbers are used again, so without it
// the library could take the third of three quick writes for the first.
func (s *State) stamp(file string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !now.After(s.stamped) {
		now = s.stamped.Add(time.Nanosecond)
	}
	s.stamped = now
	return os.Chtimes(file, now, now)
}

// MustWrite is [State.Write]; an error ends the test.
func (s *State) MustWrite(t testing.TB) {
	t.Helper()
	if err := s.Write(); err != nil {
		t.Fatal(err)
	}
}

// Bytes is the text of the state file.
func (s *State) Bytes() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b bytes.Buffer
	for _, l := range s.lines {
		b.WriteString(l.text())
	}
	return b.Bytes()
}

// Index is the index of the GPU of a line that [State.GPU] made.
func (l *Line) Index() int { return l.index }

// Get is the value of a key, empty when it is not set.
func (l *Line) Get(key string) string {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	return l.values[key]
}

// Set changes a key of the line: Set("mem", 6<<30). It returns the line.
func (l *Line) Set(key string, value any) *Line {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	l.set(key, fmt.Sprint(value))
	return l
}

// Remove takes the line out of the state. Do not remove a GPU that other lines name.
func (l *Line) Remove() {
	l.state.mu.Lock()
	defer l.state.mu.Unlock()
	l.state.lines = slices.DeleteFunc(l.state.lines, func(o *Line) bool { return o == l })
}

func (l *Line) set(key, value string) {
	if _, ok := l.values[key]; !ok {
		l.keys = append(l.keys, key)
	}
	l.values[key] = value
}

func (l *Line) text() string {
	var b strings.Builder
	b.WriteString(l.word)
	for _, key := range l.keys {
		value := l.values[key]
		if strings.ContainsAny(value, " \t#") {
			value = `"` + value + `"`
		}
		if key != "" {
			value = key + "=" + value
		}
		b.WriteString(" " + value)
	}
	b.WriteByte('\n')
	return b.String()
}

// UUID is the UUID that [State.GPU] gives the GPU with this index.
func UUID(index int) string {
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", index, index)
}

// MIGUUID is the UUID that [State.MIG] gives a MIG device.
func MIGUUID(gpu, gi, ci int) string {
	return fmt.Sprintf("MIG-%08x-%04x-4000-8%03x-%012x", gpu, gi, ci, gi<<8|ci)
}
