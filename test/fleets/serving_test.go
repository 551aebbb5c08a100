// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// pricedAt is one price of a GPU-hour for all nodes, the host included.
func pricedAt(t testing.TB, each money.Nano) *pricing.Prices {
	t.Helper()
	p, err := pricing.New(pricing.DefaultPolicy(), &pricing.Book{Name: "book", Grade: pricing.Listed, Rows: []pricing.Row{
		{ID: "gpu", Currency: "USD", Price: pricing.Price{GPU: &each, HostIncluded: true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serving(t testing.TB) ([]Server, [][]usage.Batch) {
	t.Helper()
	servers, err := ReadServing(trace(t, "pod_gpu_memory_used_bytes_anon.csv.gz"), trace(t, "pod_gpu_duty_cycle_anon.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	records, err := Records(WatchServing(servers), Rhythm{Interval: ServingInterval, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return servers, records
}

// TestServingDay: the day goes through all rooms, and what comes out of the last
// is what went into the first: each pod's byte-milliseconds are the sum over its
// readings, and its charge is that of its card while it was there.
func TestServingDay(t *testing.T) {
	servers, records := serving(t)
	if len(servers) != 144 || len(records) != 18 {
		t.Errorf("%d pods on %d nodes", len(servers), len(records))
	}
	prices := pricedAt(t, 1_090_000_000)
	memory := map[string]*big.Int{}
	present := map[string]int64{}
	for _, s := range servers {
		sum := new(big.Int)
		for i, r := range s.Readings {
			until := r.AtMS + ServingInterval.Milliseconds()
			if i+1 < len(s.Readings) && s.Readings[i+1].AtMS-r.AtMS <= awayMS {
				until = s.Readings[i+1].AtMS
			}
			sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(r.Bytes), big.NewInt(until-r.AtMS)))
		}
		memory[s.Name] = sum
		for _, x := range s.Stretches() {
			present[s.Name] += x.to - x.from
		}
	}
	var table byPolicy
	for _, basis := range []allocation.Basis{allocation.Held, allocation.Memory, allocation.Reserved} {
		books, err := Rate(records, prices, allocation.Policy{Basis: basis})
		if err != nil {
			t.Fatal(err)
		}
		held, granted := map[string]ledger.Wide{}, map[string]int64{}
		for i := range books.Lines {
			if l := &books.Lines[i]; l.Resource == allocation.ResourceGPU && l.Holder.Pod != "" {
				sum := held[l.Holder.Pod]
				sum.Add(l.ByteMS)
				held[l.Holder.Pod] = sum
				granted[l.Holder.Pod] += l.GrantedMS
			}
		}
		for name, want := range memory {
			if got := held[name].String(); got != want.String() {
				t.Errorf("%s: pod %s held %s byte-ms by the ledger, %s by the trace", basis, name, got, want)
			}
			if granted[name] != present[name] {
				t.Errorf("%s: pod %s had its card for %d ms by the ledger, %d by the trace", basis, name, granted[name], present[name])
			}
		}
		rep, err := books.Report(report.Account)
		if err != nil {
			t.Fatal(err)
		}
		balanced(t, string(basis), books, rep)
		table.add("`"+string(basis)+"`", books)
		if basis == allocation.Held {
			documented(t, "serving day", servingTable(servers, books)...)
		}
	}
	documented(t, "serving day by policy", table.lines...)
}

// servingTable sets what pods held and cost beside how busy their cards were.
func servingTable(servers []Server, b *Books) []string {
	cost, held := map[string]money.Sum{}, map[string]float64{}
	ms := map[string]int64{}
	for i := range b.Lines {
		if l := &b.Lines[i]; l.Holder.Pod != "" && l.Resource == allocation.ResourceGPU {
			sum := cost[l.Holder.Pod]
			sum.Add(*l.Amount)
			cost[l.Holder.Pod] = sum
			held[l.Holder.Pod] += l.ByteMS.Float() / (1 << 30) / hourMS
			ms[l.Holder.Pod] += l.ShareMS
		}
	}
	out := head("duty cycle of the card, mean", "pods", "GPU-hours", "GiB-hours held", "held on average", "USD")
	for _, band := range []struct {
		name     string
		from, to float64
	}{{"not measured", -1, 0}, {"0 to 1 %", 0, 0.01}, {"1 to 10 %", 0.01, 0.1}, {"10 to 30 %", 0.1, 0.3}, {"30 to 60 %", 0.3, 0.6}, {"above 60 %", 0.6, 2}, {"all", -1, 2}} {
		pods, hours, gib := 0, int64(0), 0.0
		var sum money.Sum
		for i := range servers {
			s := &servers[i]
			if busy := s.meanBusy(); busy >= band.from && busy < band.to {
				pods++
				hours += ms[s.Name]
				gib += held[s.Name]
				sum.AddSum(cost[s.Name])
			}
		}
		mean := 0.0
		if hours > 0 {
			mean = 100 * gib / (float64(hours) / hourMS * float64(servingTotal) / (1 << 30))
		}
		out = append(out, row(band.name, pods, hoursText(hours), fmt.Sprintf("%.1f", gib), fmt.Sprintf("%.1f %%", mean), sum))
	}
	return out
}

// meanBusy is -1 where nobody measured it.
func (s *Server) meanBusy() float64 {
	sum, n := 0.0, 0
	for _, r := range s.Readings {
		if r.Busy != nil {
			sum += *r.Busy
			n++
		}
	}
	if n == 0 {
		return -1
	}
	return sum / float64(n)
}

// balanced checks that a report has one currency, and that it comes to what the
// nodes cost without any difference.
func balanced(t *testing.T, name string, b *Books, rep report.Report) {
	t.Helper()
	if len(rep.Sections) != 1 || rep.Sections[0].Balance.Assets == nil {
		t.Fatalf("%s: %+v", name, rep.Sections)
	}
	s := rep.Sections[0]
	if cost := b.Cost(); s.Total.Cost == nil || s.Total.Cost.Total != cost || *s.Balance.Assets != cost || len(s.Balance.Differences) != 0 {
		t.Errorf("%s: the report says %+v, the nodes cost %s: %+v", name, s.Total.Cost, cost, s.Balance)
	}
}
