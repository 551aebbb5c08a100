// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/adapter/pricebook"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

func TestMain(m *testing.M) {
	stage.HolderMain()
	var err error
	if bin, err = os.MkdirTemp("", "demo-test-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// bin is the folder of the programs, for all tests.
var bin string

var buildPrograms = sync.OnceValues(func() ([]byte, error) {
	return exec.Command("go", "build", "-o", bin, "../../cmd/gputally", "../../cmd/gputally-agent").CombinedOutput()
})

// built builds the programs and the mock library.
func built(t *testing.T) options {
	t.Helper()
	if out, err := buildPrograms(); err != nil {
		t.Fatalf("build programs: %v\n%s", err, out)
	}
	return options{bin: bin, nvml: mocknvml.Build(t), files: ".", days: 30, once: true}
}

// TestOnce runs the demo from end to end, as CI can: everything that it stages is
// in the bill, the bill balances and comes to what the nodes cost, no program logs
// an error, and nothing is left behind.
func TestOnce(t *testing.T) {
	o := built(t)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var out strings.Builder
	began := time.Now()
	if err := run(ctx, o, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	text := out.String()
	for _, want := range []string{
		"records of 30 days delivered", "30 days of 3 nodes rated",
		"train ", "inference ", "batch ", "notebooks ", "research ", "physics ", "vision ", "render ", "ml ", "qa ", "observability ",
		"[idle]", "[stranded]", "[overhead]", "[unattributed]", "[host]", "[unavailable]", "[unmeasured]",
		"search ", "foundation-models ", "assistants ", "alignment ", "documents ", "legal-ai ", "media ", "speech ", "growth ", "(none) ",
		"had no grant: a leak", "Policy demo-2026", "row aws/us-east-1/p4d.24xlarge", "The hour, divided again, comes to the same.",
		"mps ×4", "shared-claim", "fraction", "LOST (unavailable)", "host video-transcode.service", "5,120=", "daemon nvidia-de",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in what the demo prints", want)
		}
	}
	totals, costs := figures(t, `(?m)^TOTAL +([0-9,.]+) `, text), figures(t, `The nodes cost ([0-9,.]+) USD: the total is that, exactly\.`, text)
	// Where the hour ended meanwhile, the report may have it or not yet.
	least, most := cost(t, o, began, began), cost(t, o, began, time.Now())
	if len(totals) != 2 || len(costs) != 2 {
		t.Fatalf("totals %v, costs %v: want those of two reports", totals, costs)
	}
	for _, got := range append(totals, costs...) {
		if got < least-0.02 || got > most+0.02 || got != totals[0] {
			t.Errorf("a total or a cost is %.2f, and by the price book the nodes cost %.2f to %.2f; totals %v", got, least, most, totals)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "gputally-demo-*"))
	if len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
}

// figures are the numbers that a pattern finds.
func figures(t *testing.T, pattern, text string) (out []float64) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// cost is what the nodes cost by the price book and the list prices, from when they
// were made to the last hour that was over at a time.
func cost(t *testing.T, o options, began, at time.Time) (sum float64) {
	t.Helper()
	text, err := os.ReadFile(o.prices())
	if err != nil {
		t.Fatal(err)
	}
	file, err := pricebook.Read(bytes.NewReader(text), "prices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := listprices.Book()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := pricing.New(*file.Policy, &file.Book, list)
	if err != nil {
		t.Fatal(err)
	}
	to := began.Truncate(time.Second)
	for _, n := range history.New(seed, to.AddDate(0, 0, -o.days), to).Nodes() {
		node := pricing.Node{
			Cluster: n.Cluster, Name: n.Name, ProviderID: n.ProviderID, Labels: n.Labels, CPUMilli: n.CPUMilli, MemoryBytes: n.MemoryBytes,
			InstanceType: n.Labels["node.kubernetes.io/instance-type"], Region: n.Labels["topology.kubernetes.io/region"],
		}
		for _, g := range n.GPUs {
			node.Slots = append(node.Slots, pricing.Slot{Name: g.Slot, Model: g.Model})
		}
		hour := at.Truncate(time.Hour)
		costs, err := prices.Cost(&node, hour.Add(-time.Hour).UnixMilli(), hour.UnixMilli())
		if err != nil || len(costs) != 1 || !costs[0].Priced {
			t.Fatalf("%s has no price: %+v %v", n.Name, costs, err)
		}
		sum += costs[0].Total.Float() * hour.Sub(n.Created).Hours()
	}
	return sum
}

// TestMissing: what is missing is named, with the command that makes it.
func TestMissing(t *testing.T) {
	err := run(t.Context(), options{bin: t.TempDir(), nvml: "nowhere.so", files: t.TempDir(), once: true}, &strings.Builder{})
	for _, want := range []string{"gputally-agent is missing: run make build", "nowhere.so is missing: run make mock", "prices.yaml is missing", "--days is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}
