// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	store = "./internal/adapter/duck"
	fleet = "./test/fleets"
)

// step is benchmarks that are run in one go.
type step struct {
	// title begins the names of its rows.
	title, pkg, bench string
	// times is how often each benchmark is run.
	times int
	env   []string
	// row makes a row of the table of a result.
	row func(result) row
}

// fleetOf is the size of a ledger: GPUs, and days with three lines of each GPU an
// hour.
func fleetOf(gpus, days int) []string {
	env := []string{fmt.Sprint("GPUTALLY_BENCH_GPUS=", gpus), fmt.Sprint("GPUTALLY_BENCH_DAYS=", days)}
	if *keep != "" {
		env = append(env, "GPUTALLY_BENCH_DIR="+filepath.Join(*keep, fmt.Sprint(gpus, "-", days)))
	}
	return env
}

// nodesOf is a number of nodes with 8 GPUs each, three holders on each GPU.
func nodesOf(n int) []string { return []string{fmt.Sprint("GPUTALLY_BENCH_NODES=", n)} }

// steps are all, the small ones first: what does not work shows early.
func steps() []step {
	return []step{
		{"800 GPUs, 7 days: report by", store, "Report$/namespace", 100, fleetOf(800, 7), smallReported},
		{"1,000 GPUs, 30 days: report by", store, "Report$", 30, fleetOf(1000, 30), smallReported},
		{"10,000 GPUs, 30 days: report by", store, "Report$", 30, fleetOf(10_000, 30), reported},
		{"1,000 GPUs: a minute's records are", store, "Append$", 20, nodesOf(125), perSecond("taken in", "rows/s", "", 0)}, // mostly the checkpoint
		{"10,000 GPUs: a minute's records are", store, "Append$", 10, nodesOf(1250), perSecond("taken in", "rows/s", "100,000 rows/s", 100_000)},
		{"10,000 GPUs: an hour's lines are", store, "Book$", 5, fleetOf(10_000, 1), perSecond("booked", "lines/s", "", 0)},
		{"1,000 GPUs: an hour is", fleet, "RateHour$", 1, nodesOf(125), rated},
		{"10,000 GPUs: an hour is", fleet, "RateHour$", 1, nodesOf(1250), rated},
	}
}

// measureAll runs the steps that have a text in their names.
func measureAll(only string) (rows []row, err error) {
	for _, s := range steps() {
		if !strings.Contains(s.title+" "+s.bench, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "%s %s (%s)\n", time.Now().Format(time.TimeOnly), s.title, s.bench)
		results, err := s.run()
		if err != nil {
			return nil, err
		}
		for _, r := range results {
			one := s.row(r)
			one.what = s.title + " " + one.what
			rows = append(rows, one)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("nothing that is measured has %q in its name", only)
	}
	return rows, nil
}

func (s *step) run() ([]result, error) {
	cmd := exec.Command("go", "test", s.pkg, "-run", "^$", "-bench", s.bench, "-benchtime", fmt.Sprint(s.times, "x"), "-timeout", "2h")
	cmd.Env = append(os.Environ(), s.env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, os.Stderr), os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	results, err := readResults(&out)
	if err == nil && len(results) == 0 {
		err = fmt.Errorf("no benchmark is called %s", s.bench)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return results, nil
}

// result is what a benchmark says: its name below the first /, and its figures by
// their units.
type result struct {
	name    string
	figures map[string]float64
}

// readResults reads the lines of results of `go test -bench`.
func readResults(r io.Reader) (out []result, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") || len(f)%2 != 0 {
			continue
		}
		one := result{figures: map[string]float64{}}
		if i := strings.LastIndexByte(f[0], '-'); i > 0 { // the number of threads
			f[0] = f[0][:i]
		}
		_, one.name, _ = strings.Cut(f[0], "/")
		for i := 2; i < len(f); i += 2 {
			if one.figures[f[i+1]], err = strconv.ParseFloat(f[i], 64); err != nil {
				return nil, fmt.Errorf("%q: %w", lines.Text(), err)
			}
		}
		out = append(out, one)
	}
	return out, lines.Err()
}
