// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/packing"
)

// TestKnownCheapest: hundreds of nodes with cards of all models. The plan is
// carried out by a check of its own, and is no farther from the cheapest packing,
// which the fleet was made of, than it once was; the bound never exceeds that.
func TestKnownCheapest(t *testing.T) {
	for _, c := range []struct {
		kind
		most int64 // thousandths above the cheapest
	}{
		{kind{gpus: 2000, spread: 135}, 130},
		{kind{gpus: 1000, spread: 120}, 190},
		{kind{gpus: 600, spread: 150}, 240},
		{kind{gpus: 1000, spread: 135, tight: true}, 220},
	} {
		f := makeFleet(c.kind, rand.New(rand.NewPCG(7, uint64(c.gpus))))
		p, err := packing.Solve(f.Fleet, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := packing.Replay(f.Fleet, p); err != nil {
			t.Fatal(err)
		}
		off := int64(1000 * (float64(p.After) - float64(f.Cheapest)) / float64(f.Cheapest))
		t.Logf("%+v: %d nodes, %d GPUs, %d pods: %s before, %s after, cheapest %s, bound %s, %d ‰ above; %d restart, %d M looked at",
			c.kind, len(f.Nodes), f.GPUs, len(f.Pods), p.Before, p.After, f.Cheapest, p.Bound, off, len(p.Restarts), p.Work/1e6)
		if p.Bound > f.Cheapest || p.After < f.Cheapest || off > c.most || p.After >= p.Before {
			t.Errorf("%+v: bound %s, cheapest %s, plan %s, before %s: %d ‰ above the cheapest", c.kind, p.Bound, f.Cheapest, p.After, p.Before, off)
		}
	}
}

func TestDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/packing-speed.md")
	if err != nil {
		t.Fatal(err)
	}
	got, err := refreshed(string(text), "TABLE\n")
	if err != nil || !strings.Contains(got, beginMark+"\n\nTABLE\n\n"+endMark) {
		t.Errorf("%v:\n%s", err, got)
	}
	if _, err := refreshed("no markers", "x"); err == nil {
		t.Error("a document without markers was refreshed")
	}
}
