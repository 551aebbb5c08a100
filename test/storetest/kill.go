// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// writerEnv makes the test binary a writer that never stops by itself.
const writerEnv = "GPUTALLY_TEST_STORE_WRITER"

// Main, called first in TestMain, is the writer that the suite kills.
func Main(open Open) {
	dir := os.Getenv(writerEnv)
	if dir == "" {
		tryLess()
		return
	}
	if err := writeForever(open, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// tries is how often a property is tried where -rapid.checks does not say it: each
// try works on a disk. A change of a store is worth -rapid.checks=1000.
const tries = "30"

func tryLess() {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "rapid.checks" })
	if said {
		return
	}
	if err := flag.Set("rapid.checks", tries); err != nil {
		panic(err) // rapid has no such flag any more
	}
}

// writeForever goes on where the store stands: groups of batches, checkpoints
// and seals now and then. It prints what the store said once it has said it.
func writeForever(open Open, dir string) error {
	s, err := open(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	seq := uint64(1)
	if acks := s.Acks("victim"); len(acks) == 1 {
		seq = acks[0].Accepted.Seq + 1
	}
	for i := 0; ; i++ {
		var group []usage.Batch
		for range 1 + i%5 {
			group = append(group, Minute("victim", "boot", seq, 1, 2))
			seq++
		}
		if _, err := s.Append(ctx, group); err != nil {
			return err
		}
		fmt.Println("accepted", seq-1)
		switch {
		case i%17 == 16:
			err = s.Seal(ctx, startTime())
		case i%4 == 3:
			err = s.Checkpoint(ctx)
		}
		if err != nil {
			return err
		}
		fmt.Println("durable", s.Acks("victim")[0].Durable.Seq)
	}
}

// killed: a writer is killed with SIGKILL at random moments. Afterwards all it
// had said is there, once, and whole.
func killed(t *testing.T, open Open) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	said := map[string]uint64{}
	for range 8 {
		runAndKill(t, dir, time.Duration(rnd.IntN(300))*time.Millisecond, said)
	}
	s, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{Store: s, t: t}
	defer func() { f.must(s.Close()) }()
	ack := s.Acks("victim")[0]
	if len(ack.Accepted.Missing) != 0 || ack.Accepted.Seq < said["accepted"] || ack.Durable.Seq != ack.Accepted.Seq {
		t.Errorf("opened again: %+v; it had said accepted %d", ack, said["accepted"])
	}
	var want []usage.Batch
	for seq := range ack.Accepted.Seq {
		want = append(want, Minute("victim", "boot", seq+1, 1, 2))
	}
	var got []usage.Batch
	for hour := range int(ack.Accepted.Seq)/60 + 1 {
		got = append(got, f.hour(hour, "")...)
	}
	f.same(want, got)
	if said["durable"] == 0 || said["accepted"] < 20 {
		t.Errorf("the writers said no more than %v: they were killed too early to prove anything", said)
	}
	t.Logf("%d batches of 8 killed writers, accepted %d, durable %d had been said", len(got), said["accepted"], said["durable"])
}

func runAndKill(t *testing.T, dir string, after time.Duration, said map[string]uint64) {
	t.Helper()
	killAfter(t, writerEnv+"="+dir, 1, after, said)
}

// killAfter runs this test binary in a role that an environment variable gives it,
// and kills it some time after so many words. said gets the highest number that
// was said of each word.
func killAfter(t *testing.T, role string, words int, after time.Duration, said map[string]uint64) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var word string
		var n uint64
		if _, err := fmt.Sscanf(lines.Text(), "%s %d", &word, &n); err != nil {
			continue // the kill cut the line
		}
		said[word] = max(said[word], n)
		if words--; words == 0 {
			time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
		}
	}
	_ = cmd.Wait() // it was killed: that is the point
	if stderr.Len() > 0 {
		t.Fatalf("%s: %s", role, stderr.String())
	}
}
