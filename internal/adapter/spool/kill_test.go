// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// writerEnv makes the test binary a writer that never stops by itself.
const writerEnv = "GPUTALLY_TEST_SPOOL_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		writeUntilKilled(dir)
	}
	os.Exit(m.Run())
}

// writeUntilKilled appends batches of varying size, and prints boot and number
// of each once it is durable.
func writeUntilKilled(dir string) {
	s, _, err := Open(dir, Options{SegmentBytes: 64 << 10, MaxBytes: 1 << 30})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := 1; ; i++ {
		if err := s.Append(minute(i, (i*977)%9000)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(s.Boot(), i)
	}
}

// A real writer is killed with SIGKILL 200 times, at random moments, on one
// spool. Afterwards every batch that was reported durable is there exactly
// once, numbers have no holes, and at most one more batch per boot than was
// reported has made it.
func TestKill9AtRandom200Times(t *testing.T) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	durable := map[string]uint64{}
	for range 200 {
		runAndKill(t, dir, time.Duration(rnd.IntN(12000))*time.Microsecond, durable)
	}
	checkKilled(t, dir, durable)
}

// runAndKill starts a writer, kills it some time after its first batch, and
// notes the last number it reported.
func runAndKill(t *testing.T, dir string, after time.Duration, durable map[string]uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), writerEnv+"="+dir)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	first := true
	for lines.Scan() {
		boot, number, ok := strings.Cut(lines.Text(), " ")
		n, err := strconv.ParseUint(number, 10, 64)
		if !ok || err != nil {
			continue // the kill cut the line
		}
		durable[boot] = max(durable[boot], n)
		if first {
			first = false
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // it was killed: that is the point
	if stderr.Len() > 0 {
		t.Fatalf("writer: %s", stderr.String())
	}
}

func checkKilled(t *testing.T, dir string, durable map[string]uint64) {
	t.Helper()
	found := map[string]map[uint64]int{}
	rep, err := Verify(dir, func(e Entry) error {
		if found[e.Batch.Boot] == nil {
			found[e.Batch.Boot] = map[uint64]int{}
		}
		found[e.Batch.Boot][e.Batch.Seq]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rep.Problems {
		if p.Kind != TornTail {
			t.Errorf("problem: %v", p)
		}
	}
	if len(rep.Duplicates)+len(rep.Holes) > 0 {
		t.Errorf("duplicates %v, holes %v", rep.Duplicates, rep.Holes)
	}
	if len(durable) != 200 {
		t.Errorf("%d writers reported a batch, want 200", len(durable))
	}
	total := 0
	for boot, n := range durable {
		got := found[boot]
		total += len(got)
		for i := uint64(1); i <= n; i++ {
			if got[i] != 1 {
				t.Errorf("boot %s: batch %d is there %d times", boot, i, got[i])
			}
		}
		if uint64(len(got)) > n+1 {
			t.Errorf("boot %s: %d batches are there, %d were reported", boot, len(got), n)
		}
	}
	t.Logf("%d batches of 200 killed writers", total)
}
