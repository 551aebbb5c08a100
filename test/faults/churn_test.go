// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

const (
	shortPods = 1000
	atOnce    = 50 // pods that live at the same time
)

// TestAThousandShortLivedPods runs 1,000 pods that live about two seconds each,
// 50 at a time. Each that was seen is in the records once and to the byte; what
// the agent holds for them goes when they do.
func TestAThousandShortLivedPods(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.NVML.Option("reap=0") // the pods' processes are figures
	n.write()
	n.begin()
	before := n.held()
	var half held
	for from := 0; from < shortPods; from += atOnce {
		n.wave(from)
		if from == shortPods/2 {
			half = n.held()
		}
	}
	n.eventually("no short-lived pod holds memory", func() error {
		m, err := n.metrics()
		if err != nil {
			return err
		}
		if got := len(m.find("gputally_memory_used_bytes")); got != 2 {
			return fmt.Errorf("%d holders, want the two of before", got)
		}
		return nil
	})
	after := n.held()
	t.Logf("before %+v, after 500 pods %+v, after 1000 %+v", before, half, after)
	if grown := after.rss - half.rss; grown > 12<<20 {
		t.Errorf("the second 500 pods added %d bytes of memory", grown)
	}
	if after.files > before.files+5 || after.goroutines > before.goroutines+5 {
		t.Errorf("files %d and goroutines %d before, %d and %d after", before.files, before.goroutines, after.files, after.goroutines)
	}
	// The counters stay two minutes, for the last scrape.
	n.within(3*time.Minute, "no series names a short-lived pod", n.forgotten)
	if got := n.held().series; got > before.series+20 {
		t.Errorf("%d series, %d before", got, before.series)
	}
	n.checkShortPods()
}

// wave runs some pods, until the agent has had time to see them twice.
func (n *node) wave(from int) {
	n.t.Helper()
	var pods []*stage.Pod
	var lines []*mocknvml.Line
	for i := from; i < from+atOnce; i++ {
		p, err := n.Run(specOn(fmt.Sprintf("short-%d", i), fmt.Sprintf("%s::%d", n.gpus[1].Get("uuid"), i%atOnce)))
		n.must(err)
		_, err = p.Figure(5_000_000 + i)
		n.must(err)
		pods = append(pods, p)
		lines = append(lines, n.NVML.Proc(n.gpus[1], 5_000_000+i, gib/4))
	}
	n.write()
	time.Sleep(2 * time.Second)
	for _, l := range lines {
		l.Remove()
	}
	n.write()
	for _, p := range pods {
		n.must(p.Remove())
	}
}

// checkShortPods reads the records: bytes are counted in whole GiB/4 for
// milliseconds of presence, and nearly every pod was seen.
func (n *node) checkShortPods() {
	n.t.Helper()
	all := n.stopped()
	checkTiled(n.t, all)
	seen := map[string]bool{}
	for _, b := range all {
		for _, h := range b.Holders {
			if strings.HasPrefix(h.Holder.Pod, "short-") {
				seen[h.Holder.Pod] = true
			}
		}
	}
	// A sample that came late on a machine under load may miss a wave.
	if len(seen) < shortPods*8/10 || len(seen) > shortPods {
		n.t.Errorf("%d pods are in the records, want nearly all of %d", len(seen), shortPods)
	}
}

// forgotten reports an error while a series names a short-lived pod.
func (n *node) forgotten() error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	left := 0
	for _, line := range m {
		if strings.Contains(line, `"short-`) {
			left++
		}
	}
	if left > 0 {
		return fmt.Errorf("%d series name pods that are gone", left)
	}
	return nil
}

// held is what the agent holds of the machine.
type held struct {
	rss, files, goroutines, series int
}

func (n *node) held() held {
	n.t.Helper()
	m, err := n.metrics()
	n.must(err)
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.agent.PID))
	n.must(err)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.agent.PID))
	n.must(err)
	_, rest, ok := strings.Cut(string(status), "VmRSS:")
	if !ok {
		n.t.Fatal("no VmRSS in status")
	}
	kib, err := strconv.Atoi(strings.Fields(rest)[0])
	n.must(err)
	return held{rss: kib << 10, files: len(files), goroutines: int(n.number("go_goroutines")), series: len(m)}
}
