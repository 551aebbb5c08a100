// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/core/ledger"
)

// priceBook prices the rack, which no list has; the other nodes have list prices.
const priceBook = `pricebook: 1
name: once
currency: USD
split: {rule: residual}
rows:
- id: rack7
  labels: {example.com/rack: r7}
  on_prem: {purchase: 392000, residual: 98000, life_years: 4, power_kw: 6.8, pue: 1.35, tariff_kwh: 0.14, fixed_month: 2600}
`

// ledgerServer is the program gputally server on a data directory, one process
// after the other.
type ledgerServer struct {
	t                           *testing.T
	program, dir, book, address string
	cmd                         *exec.Cmd
	log                         *os.File
	began                       int64 // where the log of the process begins
	ended                       chan struct{}
	cpu                         time.Duration // of all processes that ended
}

func newLedgerServer(t *testing.T) *ledgerServer {
	t.Helper()
	dir := t.TempDir()
	s := &ledgerServer{t: t, program: build(t, "gputally"), dir: filepath.Join(dir, "ledger"), book: filepath.Join(dir, "prices.yaml"), address: freeAddress(t)}
	s.must(os.WriteFile(s.book, []byte(priceBook), 0o600))
	var err error
	s.log, err = os.OpenFile(filepath.Join(dir, "server.log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	s.must(err)
	t.Cleanup(func() {
		if s.cmd != nil {
			s.kill()
		}
		_ = s.log.Close() // it was written by others
	})
	return s
}

func (s *ledgerServer) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// start begins a process. It does not wait for it.
func (s *ledgerServer) start(flags ...string) {
	s.t.Helper()
	info, err := s.log.Stat()
	s.must(err)
	s.began = info.Size()
	// DuckDB's callers spin while others of its threads work for them: one thread
	// takes half the CPU.
	s.cmd = exec.Command(s.program, append([]string{"server", "--data-dir", s.dir, "--listen", s.address, "--price-book", s.book,
		"--memory", "512", "--threads", "1"}, flags...)...)
	s.cmd.Stderr = s.log
	s.must(s.cmd.Start())
	cmd, ended := s.cmd, make(chan struct{})
	s.ended = ended
	go func() {
		_ = cmd.Wait() // looked at by stop
		close(ended)
	}()
}

// get asks the process. It fails while the process does not listen.
func (s *ledgerServer) get(path string) (string, error) {
	ctx, stop := context.WithTimeout(s.t.Context(), time.Minute)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.address+path, nil)
	s.must(err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() // read
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return string(text), err
}

// until waits until a page answers.
func (s *ledgerServer) until(path string) {
	s.t.Helper()
	why := error(nil)
	for deadline := time.Now().Add(finishWithin); time.Now().Before(deadline); {
		if _, why = s.get(path); why == nil {
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("the server ended by itself: %s\n%s", s.cmd.ProcessState, s.said())
		case <-time.After(5 * time.Millisecond):
		}
	}
	s.t.Fatalf("no %s after %s: %v\n%s", path, finishWithin, why, s.said())
}

// rated waits until all hours are rated.
func (s *ledgerServer) rated() {
	s.t.Helper()
	s.until("/readyz")
	for deadline := time.Now().Add(finishWithin); ; time.Sleep(100 * time.Millisecond) {
		text, err := s.get("/api/v1/status")
		s.must(err)
		var st v1.Status
		s.must(json.Unmarshal([]byte(text), &st))
		if st.Rating.DueHours == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%d hours are due: %+v", st.Rating.DueHours, st)
		}
	}
}

// said is what the process logged.
func (s *ledgerServer) said() string {
	info, err := s.log.Stat()
	s.must(err)
	text := make([]byte, info.Size()-s.began)
	_, err = s.log.ReadAt(text, s.began)
	s.must(err)
	return string(text)
}

// kill ends the process with SIGKILL, and waits until it is gone.
func (s *ledgerServer) kill() {
	_ = s.cmd.Process.Kill() // it may be ending
	<-s.ended
	s.cpu += s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
}

// stop ends the process in order.
func (s *ledgerServer) stop() {
	s.t.Helper()
	s.must(s.cmd.Process.Signal(syscall.SIGTERM))
	<-s.ended
	s.cpu += s.cmd.ProcessState.UserTime() + s.cmd.ProcessState.SystemTime()
	if !s.cmd.ProcessState.Success() {
		s.t.Fatalf("the server ended with %s: %s", s.cmd.ProcessState, s.said())
	}
}

// ask runs a command of the program against the server.
func (s *ledgerServer) ask(args ...string) string {
	s.t.Helper()
	cmd := exec.Command(s.program, append(args, "--server", "http://"+s.address)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("gputally %s: %v\n%s%s", strings.Join(args, " "), err, &out, &errs)
	}
	return out.String()
}

// mended is the kind of a problem that a server found and mended.
var mended = regexp.MustCompile(`mended" kind=(\S+)`)

// problems are the kinds of problems that all processes found when they opened the
// store. Nothing else may be in the log that is an error.
func (s *ledgerServer) problems() (kinds []string) {
	s.t.Helper()
	for line := range s.complaints() {
		if m := mended.FindStringSubmatch(line); m != nil {
			kinds = append(kinds, m[1])
		} else {
			s.t.Errorf("a server said: %s", line)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// complaints are the errors that all processes logged, and what is no log.
func (s *ledgerServer) complaints() iter.Seq[string] {
	s.t.Helper()
	text, err := os.ReadFile(s.log.Name())
	s.must(err)
	return func(yield func(string) bool) {
		for line := range strings.Lines(string(text)) {
			if (strings.Contains(line, "level=ERROR") || !strings.HasPrefix(line, "time=")) && !yield(line) {
				return
			}
		}
	}
}

// ofTheWay are what tells in a report how its figures came about: that depends on
// what was rated twice.
var ofTheWay = []string{"charged", "adjusted", "lines"}

// report is all there is by a dimension, without what is of the way there.
func (s *ledgerServer) report(by string) string {
	s.t.Helper()
	from, to := onceFrom.AddDate(0, 0, -1).Format(time.RFC3339), onceTo.AddDate(0, 0, 1).Format(time.RFC3339)
	var v any
	s.must(json.Unmarshal([]byte(s.ask("report", "--from", from, "--to", to, "--by", by, "-o", "json")), &v))
	without(v, ofTheWay)
	text, err := json.MarshalIndent(v, "", " ")
	s.must(err)
	return string(text)
}

// without removes fields of all objects in a JSON value.
func without(v any, fields []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			without(e, fields)
		}
	case map[string]any:
		for _, f := range fields {
			delete(v, f)
		}
		for _, e := range v {
			without(e, fields)
		}
	}
}

// ledgerBooks is what a ledger comes to.
type ledgerBooks struct {
	lines   int
	net     []string // entries as JSON, by id
	reports []string
}

// books has the running server checked and asked, stops it, and reads its lines.
func (s *ledgerServer) books() (b ledgerBooks) {
	s.t.Helper()
	s.rated()
	s.ask("ledger", "check")
	for _, by := range []string{"namespace", "team,day", "node,mode", "account", "booked_month"} {
		b.reports = append(b.reports, s.report(by))
	}
	s.stop()
	store, problems, err := duck.Open(s.t.Context(), s.dir, duck.Options{})
	if err != nil || len(problems) > 0 {
		s.t.Fatal(err, problems)
	}
	defer store.Close() // only read
	var lines []ledger.Line
	for l, err := range store.Lines(s.t.Context(), ledger.Query{ToMS: onceTo.AddDate(0, 0, 1).UnixMilli()}) {
		s.must(err)
		lines = append(lines, *l)
	}
	entries, err := ledger.Net(lines)
	s.must(err)
	b.lines = len(lines)
	for _, e := range entries {
		// Where a price came from is as the last line has it, and that is as the
		// first rating had it where nothing but that has changed.
		e.Basis = nil
		text, err := json.Marshal(e)
		s.must(err)
		b.net = append(b.net, e.ID+" "+string(text))
	}
	slices.Sort(b.net)
	return b
}
