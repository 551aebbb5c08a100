// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// likes are instances of the built-in list that have the trace's cards.
var likes = map[string]pricing.Node{
	"T4":      {Provider: "aws", Region: "us-east-1", InstanceType: "g4dn.xlarge"},
	"V100M16": {Provider: "aws", Region: "us-east-1", InstanceType: "p3.2xlarge"},
	"V100M32": {Provider: "aws", Region: "us-east-1", InstanceType: "p3dn.24xlarge"},
	"P100":    {Provider: "azure", Region: "eastus", InstanceType: "Standard_NC6s_v2"},
	"A10":     {Provider: "azure", Region: "eastus", InstanceType: "Standard_NV36ads_A10_v5"},
}

// clusterBook is a price book for the trace's nodes: each GPU at the GPU's part of
// a like instance's list price, CPU and memory at the reference of the split.
func clusterBook(t testing.TB) *pricing.Book {
	t.Helper()
	list, err := listprices.Book()
	if err != nil {
		t.Fatal(err)
	}
	prices, err := pricing.New(pricing.DefaultPolicy(), list)
	if err != nil {
		t.Fatal(err)
	}
	b := &pricing.Book{Name: "list prices by model", Grade: pricing.Listed}
	for _, model := range slices.Sorted(maps.Keys(likes)) {
		n := likes[model]
		n.Name, n.Capacity = model, pricing.OnDemand
		at := clusterHour.UnixMilli()
		costs, err := prices.Cost(&n, at, at+hourMS)
		if err != nil || len(costs) != 1 || !costs[0].Priced || len(costs[0].Slots) == 0 || costs[0].Basis.Split != string(pricing.RuleResidual) {
			t.Fatalf("%s has no list price: %+v, %v", n.InstanceType, costs, err)
		}
		b.Rows = append(b.Rows, byModel(model, costs[0].Slots[0].Cost))
	}
	return b
}

func byModel(model string, each money.Nano) pricing.Row {
	ref := pricing.DefaultPolicy().References[0]
	return pricing.Row{ID: model, Currency: "USD", Selector: pricing.Selector{Model: cards[model].Model}, Price: pricing.Price{GPU: &each, VCPU: &ref.VCPU, GiB: &ref.GiB}}
}

// cluster is the trace, placed and metered.
type cluster struct {
	machines []Machine
	asks     []Ask
	placed   []Placed
	left     []Ask
	records  [][]usage.Batch
}

func openb(t testing.TB, servers []Server) cluster {
	t.Helper()
	var c cluster
	var err error
	if c.machines, err = ReadMachines(trace(t, "openb_node_list_gpu_node.csv")); err != nil {
		t.Fatal(err)
	}
	if c.asks, err = ReadAsks(trace(t, "openb_pod_list_default.csv")); err != nil {
		t.Fatal(err)
	}
	c.placed, c.left = Place(c.machines, c.asks)
	fractions := meanShares(servers)
	watches := WatchCluster(c.machines, c.placed, func(pod int) float64 { return fractions[pod%len(fractions)] })
	if c.records, err = Records(watches, Rhythm{Interval: clusterInterval, Window: clusterInterval}); err != nil {
		t.Fatal(err)
	}
	return c
}

// meanShares is how much of their cards the serving pods held on average.
func meanShares(servers []Server) (out []float64) {
	for _, s := range servers {
		sum := 0.0
		for _, r := range s.Readings {
			sum += float64(r.Bytes)
		}
		out = append(out, sum/float64(len(s.Readings))/float64(servingTotal))
	}
	return out
}

func readServers(t testing.TB) []Server {
	t.Helper()
	servers, err := ReadServing(trace(t, "pod_gpu_memory_used_bytes_anon.csv.gz"), trace(t, "pod_gpu_duty_cycle_anon.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	return servers
}

// TestCluster: 6,212 GPUs and 8,152 pods, placed, metered, priced, reported. Each
// pod has its grant and nothing is odd; under reserved, each is charged its part of
// its cards; what has no price is said to be unknown.
func TestCluster(t *testing.T) {
	c := openb(t, readServers(t))
	gpus := 0
	for _, m := range c.machines {
		gpus += m.GPUs
		if _, known := cards[m.Model]; !known {
			t.Fatalf("no card is called %q", m.Model)
		}
	}
	if gpus != 6212 || len(c.asks) != 8152 || len(c.placed)+len(c.left) != 8152 || len(c.placed) < 7500 {
		t.Errorf("%d GPUs, %d pods, %d placed", gpus, len(c.asks), len(c.placed))
	}
	odd := map[string]int{}
	for _, batches := range c.records {
		for _, b := range batches {
			for _, f := range b.Findings {
				odd[string(f.Kind)]++
			}
		}
	}
	if len(odd) > 0 {
		t.Errorf("findings on a fleet in which nothing is wrong: %v", odd)
	}
	documented(t, "cluster placed", c.placedTable()...)
	book := clusterBook(t)
	table := &byPolicy{}
	c.check(t, "list prices by model", book, table, allocation.Held, allocation.Reserved)
	round := money.Unit
	all := &pricing.Book{Name: "with a price for G2 and G3", Grade: pricing.Listed, Rows: append(slices.Clone(book.Rows), byModel("G2", round), byModel("G3", round))}
	c.check(t, all.Name, all, table, allocation.Reserved, allocation.Memory)
	documented(t, "cluster by policy", table.lines...)
}

// placedTable is how many pods found a place, by what they ask for.
func (c *cluster) placedTable() []string {
	out := head("asks for", "pods", "placed", "GPUs asked for", "GPUs given")
	kinds := []struct {
		name   string
		is     func(*Ask) bool
		counts [4]int64
	}{
		{name: "no GPU", is: func(a *Ask) bool { return a.GPUs == 0 }},
		{name: "a part of one", is: func(a *Ask) bool { return a.GPUs == 1 && a.GPUMilli < 1000 }},
		{name: "one", is: func(a *Ask) bool { return a.GPUs == 1 && a.GPUMilli == 1000 }},
		{name: "two to eight", is: func(a *Ask) bool { return a.GPUs > 1 }},
		{name: "all", is: func(*Ask) bool { return true }},
	}
	for i := range kinds {
		k := &kinds[i]
		for j := range c.asks {
			if a := &c.asks[j]; k.is(a) {
				k.counts[0]++
				k.counts[2] += int64(a.GPUs * a.GPUMilli)
			}
		}
		for j := range c.placed {
			if a := &c.placed[j].Ask; k.is(a) {
				k.counts[1]++
				k.counts[3] += int64(a.GPUs * a.GPUMilli)
			}
		}
		out = append(out, row(k.name, k.counts[0], k.counts[1], fmt.Sprintf("%.2f", float64(k.counts[2])/1000), fmt.Sprintf("%.2f", float64(k.counts[3])/1000)))
	}
	return out
}

// modelTable is the GPUs of each model under held.
func (c *cluster) modelTable(b *Books, each map[string]money.Nano) []string {
	out := head("model", "GPUs", "USD per GPU-hour", "given to pods, GPU-hours", "of that held", "idle", "cost of the GPUs, USD")
	for _, model := range slices.Sorted(maps.Keys(cards)) {
		gpus := 0
		for _, m := range c.machines {
			if m.Model == model {
				gpus += m.GPUs
			}
		}
		price, cost := "no price", "unknown"
		if n, priced := each[cards[model].Model]; priced {
			price = n.String()
			cost = b.Of(func(e *allocation.Entry) bool { return e.Model == cards[model].Model }).Money.String()
		}
		var given, used, idle int64
		for i := range b.Entries {
			e := &b.Entries[i]
			switch {
			case e.Resource != allocation.ResourceGPU || e.Model != cards[model].Model:
			case e.Kind == allocation.Direct:
				given += e.ShareMS
				used += e.UsedMS
			case e.Account == allocation.Idle:
				idle += e.ShareMS
			}
		}
		out = append(out, row(model, gpus, price, hoursText(given), hoursText(used), hoursText(idle), cost))
	}
	return out
}

func (c *cluster) check(t *testing.T, name string, book *pricing.Book, table *byPolicy, bases ...allocation.Basis) {
	t.Helper()
	prices, err := pricing.New(pricing.DefaultPolicy(), book)
	if err != nil {
		t.Fatal(err)
	}
	each := map[string]money.Nano{}
	for _, r := range book.Rows {
		each[r.Model] = *r.Price.GPU
	}
	for _, basis := range bases {
		books, err := Rate(c.records, prices, allocation.Policy{Basis: basis})
		if err != nil {
			t.Fatal(err)
		}
		rep, err := books.Report(report.Model)
		if err != nil {
			t.Fatal(err)
		}
		balanced(t, fmt.Sprint(name, ", ", basis), books, rep)
		table.add("`"+string(basis)+"`, "+name, books)
		switch {
		case basis == allocation.Reserved:
			c.checkReserved(t, name, books, each)
		case basis == allocation.Held:
			documented(t, "cluster by model", c.modelTable(books, each)...)
		}
		unpriced := books.Of(func(e *allocation.Entry) bool { return e.Amount == nil }).GPUMS
		if want := c.gpuMS(each); unpriced != want {
			t.Errorf("%s: %d ms of GPUs have no price, want %d", name, unpriced, want)
		}
	}
}

// gpuMS is the time of the GPUs that have no price.
func (c *cluster) gpuMS(each map[string]money.Nano) (ms int64) {
	for _, m := range c.machines {
		if _, priced := each[cards[m.Model].Model]; !priced {
			ms += int64(m.GPUs) * hourMS
		}
	}
	return ms
}

// checkReserved compares each pod's charge for GPUs with its part of their price.
func (c *cluster) checkReserved(t *testing.T, name string, b *Books, each map[string]money.Nano) {
	t.Helper()
	charged := map[string]money.Nano{}
	for i := range b.Entries {
		if e := &b.Entries[i]; e.Resource == allocation.ResourceGPU && e.Amount != nil && e.Kind == allocation.Direct {
			charged[e.Holder.Pod] += *e.Amount
		}
	}
	wrong := 0
	for i := range c.placed {
		p := &c.placed[i]
		card := cards[c.machines[p.Machine].Model]
		exact := new(big.Rat).SetFrac(new(big.Int).SetUint64(p.ShareOf(card)), new(big.Int).SetUint64(card.Total))
		exact.Mul(exact, big.NewRat(int64(each[card.Model])*int64(len(p.Cards)), 1))
		off := exact.Sub(exact, new(big.Rat).SetInt64(int64(charged[p.Name])))
		if off.Abs(off).Cmp(big.NewRat(int64(len(p.Cards))+1, 1)) > 0 {
			if wrong++; wrong < 4 {
				t.Errorf("%s: pod %s of %d × %d on %s is charged %s, off by %s billionths", name, p.Name, len(p.Cards), p.GPUMilli, card.Model, charged[p.Name], off.FloatString(1))
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d pods are charged another part than they have", name, wrong)
	}
}

func TestTracesThatCannotBeRead(t *testing.T) {
	for want, text := range map[string]string{
		"no column gpu": "sn,cpu_milli,memory_mib,model\n", "invalid syntax": "sn,cpu_milli,memory_mib,gpu,model\na,1,1,many,T4\n", "0 rows": "",
	} {
		if _, err := ReadMachines(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := ReadServing(strings.NewReader("x"), nil); err == nil {
		t.Error("what is not gzipped is read")
	}
}
