// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/api"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/scene"
	"github.com/gputally/gputally/test/memstore"
)

// TestFleetOverTheWire: all nodes come at first, then none until one changes; the
// parts of every partition come to its capacity.
func TestFleetOverTheWire(t *testing.T) {
	s, _ := serve(t, readOnly(t), nil)
	var all, later v1.Fleet
	decode(t, s.URL+api.Prefix+"/fleet", &all)
	if len(all.Nodes) != 3 || !all.Full {
		t.Fatalf("%d nodes, full %v", len(all.Nodes), all.Full)
	}
	parts := 0
	for _, n := range all.Nodes {
		for _, g := range n.GPUs {
			for _, p := range g.Partitions {
				if p.Capacity == nil || p.Free == nil {
					continue
				}
				parts++
				sum := *p.Reserve + *p.Unattributed + *p.Free
				for _, h := range p.Holders {
					if h.Bytes != nil {
						sum += *h.Bytes
					}
				}
				if sum != *p.Capacity {
					t.Errorf("%s: the parts come to %d, the capacity is %d", g.UUID, sum, *p.Capacity)
				}
			}
		}
	}
	if parts == 0 {
		t.Error("no partition has sizes")
	}
	decode(t, s.URL+api.Prefix+"/fleet?since="+json.Number(number(all.Revision)).String(), &later)
	if len(later.Nodes) != 0 || later.Full || later.Revision != all.Revision {
		t.Errorf("nothing changed, and %d nodes came", len(later.Nodes))
	}
}

func number(n uint64) string { b, _ := json.Marshal(n); return string(b) }

// TestTimelineOverTheWire: the values of each step come to the capacity where it was
// measured, and what is wrong is refused by name.
func TestTimelineOverTheWire(t *testing.T) {
	l := readOnly(t)
	s, _ := serve(t, l, nil)
	nodes, _, _ := fleetOf(t, l).Fleet(0)
	held := 0
	for _, n := range nodes {
		for _, g := range n.GPUs {
			var line v1.Timeline
			decode(t, s.URL+api.Prefix+"/gpus/"+string(g.UUID)+"/timeline?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z", &line)
			if line.Steps != 360 || line.StepMS != 60_000 || line.Node != n.Node {
				t.Errorf("%s: %d steps of %d ms on %q", g.UUID, line.Steps, line.StepMS, line.Node)
			}
			for _, p := range line.Partitions {
				for i := range p.Free {
					if p.Free[i] == nil {
						continue
					}
					sum := *p.Free[i] + *p.Reserve[i] + *p.Unattributed[i]
					for _, h := range p.Holders {
						held++
						sum += *h.Bytes[i]
					}
					// Each is rounded down by less than one.
					if off := int64(*p.Capacity) - int64(sum); off < 0 || off > int64(3+len(p.Holders)) {
						t.Fatalf("%s step %d: off by %d bytes", p.Key, i, off)
					}
				}
			}
		}
	}
	if held == 0 {
		t.Error("nobody held anything")
	}
	for path, status := range map[string]int{
		"/gpus/GPU-none/timeline": http.StatusNotFound, "/gpus/x/timeline?from=2026-11-03&to=2026-11-02": http.StatusUnprocessableEntity,
		"/findings?from=2026-01-01&to=2026-11-02": http.StatusUnprocessableEntity,
	} {
		if resp := get(t, s.URL+api.Prefix+path); resp.StatusCode != status {
			t.Errorf("%s: %s, want %d", path, resp.Status, status)
		}
	}
	off, _ := serve(t, l, func(o *api.Options) { o.Fleet = nil })
	if resp := get(t, off.URL+api.Prefix+"/fleet"); resp.StatusCode != http.StatusConflict {
		t.Errorf("a server without a board: %s", resp.Status)
	}
}

// TestFindingsOverTheWire: the fleet's findings stand with since when.
func TestFindingsOverTheWire(t *testing.T) {
	s, _ := serve(t, readOnly(t), nil)
	var out v1.Findings
	decode(t, s.URL+api.Prefix+"/findings?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z", &out)
	for _, f := range out.Findings {
		if f.Kind == "" || f.Detail == "" || !f.First.Before(f.Last) || f.Windows == 0 {
			t.Errorf("%+v", f)
		}
	}
	if len(out.Findings) == 0 {
		t.Error("the story of the fleet has findings")
	}
}

type picture interface{ api.Fleet }

// told is a fleet with findings of its own.
type told struct {
	picture
	list []scene.StoodFinding
}

func (f told) Findings(context.Context, string, int64, int64) ([]scene.StoodFinding, error) {
	return f.list, nil
}

// TestFindingsHaveTheirCost: the money of a finding is the ledger's: of the pod on that
// GPU, in the hours in which the finding stood; a leak's only what nobody gave it. What
// has no price or moves no money has no amount, and says why.
func TestFindingsHaveTheirCost(t *testing.T) {
	l := readOnly(t)
	plain, _ := serve(t, l, nil)
	var stands v1.Findings
	decode(t, plain.URL+api.Prefix+"/findings?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z", &stands)
	for _, f := range stands.Findings {
		if f.Cost != nil || f.Said.Detail.Code == "" || len(f.Said.Evidence) != len(f.Evidence) {
			t.Errorf("%q: a cost that nobody asked for (%+v), or it is not understood: %+v", f.Detail, f.Cost, f.Said)
		}
	}
	var r v1.Report
	decode(t, plain.URL+api.Prefix+"/report?from=2026-11-03T01:00:00Z&to=2026-11-03T03:00:00Z&by=gpu,account&where=class=workload", &r)
	row := v1.Row{}
	for _, section := range r.Sections {
		for _, x := range section.Rows {
			if x.Cost != nil && x.Cost.GPU.Big().Sign() > 0 && x.Keys["gpu"] != "" {
				row = x
			}
		}
	}
	if row.Cost == nil {
		t.Fatalf("nothing is priced: %+v", r.Sections)
	}
	leak := stands.Findings[0].StoodFinding
	of := func(kind attribution.FindingKind) scene.StoodFinding {
		f := leak
		f.Kind, f.Account, f.Device = kind, row.Keys["account"], gpu.UUID(row.Keys["gpu"])
		f.First, f.Last = memstore.Start.Add(90*time.Minute), memstore.Start.Add(150*time.Minute)
		return f
	}
	s, _ := serve(t, l, func(o *api.Options) {
		o.Fleet = told{o.Fleet, []scene.StoodFinding{of(attribution.OverLimit), of(attribution.UnallocatedUse), of(attribution.ClockStep), of(attribution.DoubleOwner), leak}}
	})
	var out v1.Findings
	decode(t, s.URL+api.Prefix+"/findings?from=2026-11-03T00:00:00Z&to=2026-11-03T06:00:00Z&cost=true", &out)
	for i, want := range []string{"holder " + row.Cost.GPU.String(), "leak 0.00", " no_money", " not_apart", " no_price"} {
		c := out.Findings[i].Cost
		got := c.Of + " " + c.Unknown
		for _, a := range c.Amounts {
			got += a.Amount.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", out.Findings[i].Kind, got, want)
		}
	}
	if c := out.Findings[0].Cost; c.Until == nil || !c.Until.Equal(memstore.Start.Add(3*time.Hour)) {
		t.Errorf("counted until %v", c.Until)
	}
}

// TestLargeAnswersAreCompressed: where the client takes it, and only then.
func TestLargeAnswersAreCompressed(t *testing.T) {
	s, _ := serve(t, readOnly(t), nil)
	r, err := http.NewRequest(http.MethodGet, s.URL+api.Prefix+"/fleet", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("headers %v", resp.Header)
	}
	z, err := gzip.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var f v1.Fleet
	if err := json.NewDecoder(z).Decode(&f); err != nil || len(f.Nodes) != 3 {
		t.Errorf("%d nodes, %v", len(f.Nodes), err)
	}
}

func decode(t *testing.T, url string, into any) {
	t.Helper()
	resp := get(t, url)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", url, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
