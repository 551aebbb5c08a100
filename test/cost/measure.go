// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// scrapeEvery is how often /metrics is read meanwhile, as Prometheus would.
const scrapeEvery = 15 * time.Second

// row is what was measured of one agent in one setting.
type row struct {
	setting
	// user and kernel are CPU time by time: 1 is one core. taken is that of
	// one sample, of the wall clock, as the agent counts it.
	user, kernel float64
	taken        time.Duration
	memory
	series         int
	missed, failed int
	load           float64 // of the machine, in its last minute
	// against is the other agent, if two are compared.
	against *row
}

func (r row) cpu() float64 { return r.user + r.kernel }

func measureAll(dir string, o *options) ([]row, error) {
	if o.agent == "" {
		if err := buildAgent(dir); err != nil {
			return nil, err
		}
		o.agent = filepath.Join(dir, "gputally-agent")
	}
	library, err := mocknvml.BuildLibrary()
	if err != nil {
		return nil, err
	}
	var rows []row
	for i, set := range settings {
		if !selected(set, o.only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s: warm-up %s, then %s\n", set, o.warmUp, o.measure)
		home := filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(home, 0o755); err != nil {
			return nil, err
		}
		r, err := measure(home, set, library, *o)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", set, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f thousandths of a core, %s MiB RSS\n", set, r.cpu()*1000, mebibytes(r.rss))
		rows = append(rows, r)
	}
	return rows, nil
}

// buildAgent builds the programs as they are delivered.
func buildAgent(dir string) error {
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the module: %w", err)
	}
	root := filepath.Dir(strings.TrimSpace(string(module)))
	build := exec.Command("make", "--no-print-directory", "-C", root, "build", "BIN="+dir)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	return nil
}

// measure runs the agent, or the two, on the node of one setting.
func measure(dir string, set setting, library string, o options) (row, error) {
	s, err := stage.New(dir, "node-1")
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	if err := populate(s, set); err != nil {
		return row{}, err
	}
	var agents []*stage.Agent
	for n, program := range []string{o.agent, o.against} {
		if program == "" {
			continue
		}
		a, err := s.StartAgent(stage.Run{
			Program: program, Library: library, Spool: filepath.Join(dir, fmt.Sprint("spool", n)),
			Flags: []string{"--interval", set.interval.String()},
		})
		if err != nil {
			return row{}, err
		}
		defer func() { _ = a.Stop() }() // nothing of it is needed any more
		agents = append(agents, a)
	}
	rows, err := observe(agents, o)
	if err != nil {
		return row{}, err
	}
	r := rows[0]
	if len(rows) > 1 {
		r.against = &rows[1]
	}
	r.setting = set
	return r, nil
}

// observe lets agents work, and says what it took.
func observe(agents []*stage.Agent, o options) ([]row, error) {
	if err := watch(agents, o.warmUp); err != nil {
		return nil, err
	}
	before := make([]cpuTime, len(agents))
	for i, a := range agents {
		var err error
		if before[i], err = readCPU(a.PID); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	if err := watch(agents, o.measure); err != nil {
		return nil, err
	}
	rows := make([]row, len(agents))
	for i, a := range agents {
		after, err := readCPU(a.PID)
		if err != nil {
			return nil, err
		}
		user, kernel := after.since(before[i], time.Since(began))
		rows[i] = row{user: user, kernel: kernel, load: load()}
		if rows[i].memory, err = readMemory(a.PID); err != nil {
			return nil, err
		}
		if err := rows[i].look(a); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// watch lets time pass while agents are scraped. It fails when one ends.
func watch(agents []*stage.Agent, span time.Duration) error {
	end := time.Now().Add(span)
	for left := span; left > 0; left = time.Until(end) {
		time.Sleep(min(left, scrapeEvery))
		for _, a := range agents {
			if _, err := scrape(a); err != nil {
				return fmt.Errorf("%w\n%s", err, a.Log())
			}
		}
	}
	return nil
}

func scrape(a *stage.Agent) ([]byte, error) {
	resp, err := http.Get(a.URL + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("scrape: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape: %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}
