// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// scrapeEvery is how often /metrics is read meanwhile, as Prometheus would.
const scrapeEvery = 15 * time.Second

// row is what was measured of one setting.
type row struct {
	setting
	// cpu is CPU time by time: 1 is one core. taken is that of one sample, of
	// the wall clock, as the agent counts it.
	cpu   float64
	taken time.Duration
	memory
	series int
	missed int
}

func measureAll(dir string, o options) ([]row, error) {
	if o.agent == "" {
		o.agent = filepath.Join(dir, "gputally-agent")
		// As make build does.
		build := exec.Command("go", "build", "-tags", "grpcnotrace", "-ldflags", "-s -w", "-o", o.agent, "github.com/gputally/gputally/cmd/gputally-agent")
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build the agent: %w\n%s", err, out)
		}
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
		r, err := measure(home, set, library, o)
		if err != nil {
			return nil, fmt.Errorf("measure %s: %w", set, err)
		}
		fmt.Fprintf(os.Stderr, "%s: %.1f thousandths of a core, %s RSS\n", set, r.cpu*1000, mebibytes(r.rss))
		rows = append(rows, r)
	}
	return rows, nil
}

// measure runs the agent on the node of one setting.
func measure(dir string, set setting, library string, o options) (row, error) {
	s, err := stage.New(dir, "node-1")
	if err != nil {
		return row{}, err
	}
	defer s.Close()
	if err := populate(s, set); err != nil {
		return row{}, err
	}
	a, err := s.StartAgent(stage.Run{Program: o.agent, Library: library, Flags: []string{"--interval", set.interval.String()}})
	if err != nil {
		return row{}, err
	}
	defer func() { _ = a.Stop() }() // nothing of it is needed any more
	if err := watch(a, o.warmUp); err != nil {
		return row{}, err
	}
	before, err := readCPU(a.PID)
	if err != nil {
		return row{}, err
	}
	began := time.Now()
	if err := watch(a, o.measure); err != nil {
		return row{}, err
	}
	after, err := readCPU(a.PID)
	if err != nil {
		return row{}, err
	}
	r := row{setting: set, cpu: float64(after-before) / float64(time.Since(began))}
	if r.memory, err = readMemory(a.PID); err != nil {
		return row{}, err
	}
	return r, r.look(a)
}

// watch lets time pass while the agent is scraped. It fails when the agent ends.
func watch(a *stage.Agent, span time.Duration) error {
	end := time.Now().Add(span)
	for left := span; left > 0; left = time.Until(end) {
		select {
		case <-a.Done():
			return fmt.Errorf("the agent ended with code %d:\n%s", a.ExitCode(), a.Log())
		case <-time.After(min(left, scrapeEvery)):
		}
		if _, err := scrape(a); err != nil {
			return fmt.Errorf("%w\n%s", err, a.Log())
		}
	}
	return nil
}

func scrape(a *stage.Agent) ([]byte, error) {
	resp, err := http.Get(a.URL + "/metrics")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape: %s", resp.Status)
	}
	return io.ReadAll(resp.Body)
}
