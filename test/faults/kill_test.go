// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/stage"
)

// TestKill9LosesAtMostTheOpenWindow kills the agent 20 times at random moments,
// from before its first sample on, and once more right after a window was
// closed. (The queue alone is killed 200 times in internal/adapter/spool.)
func TestKill9LosesAtMostTheOpenWindow(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 1))
	t.Logf("seed %d", seed)
	n.begin()
	first := n.stopped() // from here on there is an end that gaps begin at
	for range 20 {
		n.start(stage.Run{})
		time.Sleep(time.Duration(rnd.IntN(2500)) * time.Millisecond)
		n.agent.Kill()
	}
	killedAfterWindow := n.killAfterWindow()
	n.begin()
	all := n.stopped()
	checkTiled(t, all)
	if len(first) != 1 || all[0].Boot != first[0].Boot {
		t.Errorf("the records begin with boot %s, %d records of it; want that of the first run", all[0].Boot, len(first))
	}
	gaps, windows := countByBoot(all)
	if windows[killedAfterWindow] == 0 {
		t.Errorf("boot %s told of a closed window, and it is not on disk", killedAfterWindow)
	}
	if len(gaps) < 5 {
		t.Errorf("%d of 22 starts left a gap record: most runs reach their first sample", len(gaps))
	}
	for boot, count := range gaps {
		if count != 1 {
			t.Errorf("boot %s wrote %d gap records, want one", boot, count)
		}
	}
}

// killAfterWindow runs the agent until it has closed a window, kills it, and
// returns its boot.
func (n *node) killAfterWindow() string {
	n.t.Helper()
	n.start(stage.Run{})
	var boot string
	n.within(90*time.Second, "a window is closed", func() error {
		m, err := n.metrics()
		if err != nil {
			return err
		}
		if got := m.find("gputally_windows_closed_total"); len(got) != 1 || got[0] == 0 {
			return fmt.Errorf("windows closed: %v", got)
		}
		boot, err = n.boot()
		return err
	})
	n.agent.Kill()
	return boot
}

// countByBoot counts gap records and windows of each process.
func countByBoot(all []usage.Batch) (gaps, windows map[string]int) {
	gaps, windows = map[string]int{}, map[string]int{}
	for _, b := range all {
		if b.Gap != nil {
			gaps[b.Boot]++
		} else {
			windows[b.Boot]++
		}
	}
	return gaps, windows
}

// TestRestartContinues: a restart under a running workload leaves a gap of
// known length and nothing else: same agent, same MIG instances, same holders.
func TestRestartContinues(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.splitGPU()
	n.begin()
	before, err := n.picture()
	n.must(err)
	bootBefore, err := n.boot()
	n.must(err)
	n.must(n.agent.Stop())
	time.Sleep(2 * time.Second)
	n.begin()
	after, err := n.picture()
	n.must(err)
	if a, b := instances(before), instances(after); len(a) != 2 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("instances %v before the restart and %v after it, want the same two", a, b)
	}
	if boot, err := n.boot(); err != nil || boot == bootBefore {
		t.Errorf("boot %s is that of the process before (%v)", boot, err)
	}
	all := n.stopped()
	checkTiled(t, all)
	gaps, windows := countByBoot(all)
	if len(gaps) != 1 || len(windows) != 2 || gaps[bootBefore] != 0 {
		t.Errorf("gap records by boot %v and windows by boot %v, want one gap of the second of two boots", gaps, windows)
	}
	for _, b := range all {
		if b.Agent != all[0].Agent {
			t.Errorf("record %s/%d is of agent %s, the first of %s", b.Boot, b.Seq, b.Agent, all[0].Agent)
		}
		if b.Gap != nil && (b.DurationMS < 2000 || b.Gap.Reason != "agent_down") {
			t.Errorf("gap of %d ms because of %q, want 2000 or more and agent_down", b.DurationMS, b.Gap.Reason)
		}
	}
}
