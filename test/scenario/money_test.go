// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// moneyOf is what a story expects of the bill.
type moneyOf struct {
	Total    string              `json:"total"`
	Lines    []moneyLine         `json:"lines"`
	Unpriced []unpricedLine      `json:"unpriced_gpu_hours"`
	Nulls    []string            `json:"nulls"`
	Findings []map[string]string `json:"findings"`
}

type moneyLine struct {
	Account   string `json:"account"`
	Partition string `json:"partition"`
	Amount    string `json:"amount"`
}

type unpricedLine struct {
	Account string `json:"account"`
	Hours   string `json:"hours"`
}

// tolerance is how exact the stories' amounts are written.
const tolerance = money.Unit / 1_000_000

// TestMoney plays every story that states what is to be paid, from samples to
// entries, and compares each line and the total.
func TestMoney(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	played := 0
	for _, file := range files {
		f := read(t, file)
		if f.Expect == nil || len(f.Expect.Money) == 0 {
			continue
		}
		played++
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			var want moneyOf
			if err := json.Unmarshal(f.Expect.Money, &want); err != nil {
				t.Fatal(err)
			}
			s := readStory(t, file)
			got := s.bill(t, s.records(t), allocation.Policy{})
			got.check(t, want)
		})
	}
	// The stories of the book that need the node: all but those that only
	// Prometheus or a provider's bill tells (testdata/NOT_CONVERTED).
	if played < 52 {
		t.Errorf("only %d stories state money; were they lost in the conversion?", played)
	}
}

// records are the windows that each node's agent would write.
func (s *story) records(t *testing.T) map[string][]usage.Batch {
	t.Helper()
	out := map[string][]usage.Batch{}
	for _, node := range s.file.Nodes {
		rep, err := replay.Run(s.file, node.Name, replay.Options{
			Policy: attribution.Policy{Daemons: attribution.DefaultDaemons()}, Interval: s.file.Interval, MonoMS: s.file.MonoMS(),
		})
		if err != nil {
			t.Fatal(err)
		}
		out[node.Name] = rep.Batches
	}
	return out
}

// billed is the outcome of all hours and nodes of a story.
type billed struct {
	entries []allocation.Entry
	names   map[gpu.PartitionID][]gpu.UUID
	cost    money.Sum // what the GPUs cost
}

// bill allocates every hour of every node.
func (s *story) bill(t *testing.T, records map[string][]usage.Batch, p allocation.Policy) billed {
	t.Helper()
	out := billed{names: map[gpu.PartitionID][]gpu.UUID{}}
	for _, node := range s.file.Nodes {
		for _, b := range records[node.Name] {
			for _, r := range b.Partitions {
				out.names[r.Partition] = r.Names
			}
		}
		for _, h := range s.hours(t, node, records[node.Name]) {
			res, err := allocation.Allocate(h, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range h.Costs {
				for _, slot := range c.Slots {
					out.cost.Add(slot.Cost)
				}
			}
			out.entries = append(out.entries, res.Entries...)
			conserved(t, h, res.Entries)
		}
	}
	return out
}

// conserved checks invariants M and D of one node's hour.
func conserved(t *testing.T, h allocation.Hour, entries []allocation.Entry) {
	t.Helper()
	type pot struct {
		start    int64
		resource allocation.Resource
		slot     string
	}
	sums, times := map[pot]*money.Sum{}, map[pot]int64{}
	for _, e := range entries {
		k := pot{e.StartMS, e.Resource, e.Slot}
		times[k] += e.ShareMS
		if sums[k] == nil {
			sums[k] = &money.Sum{}
		}
		if e.Amount == nil {
			continue
		}
		if *e.Amount < 0 {
			t.Errorf("%s on %s is charged %s", e.Account, e.Partition, *e.Amount)
		}
		sums[k].Add(*e.Amount)
	}
	for _, c := range h.Costs {
		for _, s := range c.Slots {
			k := pot{c.StartMS, allocation.ResourceGPU, s.Slot}
			if sums[k] == nil || times[k] != c.DurationMS {
				t.Errorf("slot %s: shares sum to %d ms of %d", s.Slot, times[k], c.DurationMS)
			} else if n, err := sums[k].Nano(); err != nil || n != s.Cost {
				t.Errorf("slot %s: entries sum to %s, it cost %s", s.Slot, sums[k], s.Cost)
			}
		}
	}
}

func (b *billed) check(t *testing.T, want moneyOf) {
	t.Helper()
	sum, lines, unpriced := b.sums()
	if want.Total != "" {
		total := amount(t, want.Total)
		if n, err := sum.Nano(); err != nil || sum.Big().Cmp(b.cost.Big()) != 0 || far(n, total) {
			t.Errorf("entries sum to %s, the story's total is %s, the GPUs cost %s", sum, total, b.cost)
		}
	}
	for _, l := range want.Lines {
		got, found := money.Nano(0), 0
		for k, n := range lines {
			if k.account == l.Account && b.called(k.partition, l.Partition) {
				got += n
				found++
				delete(lines, k)
			}
		}
		if far(got, amount(t, l.Amount)) {
			t.Errorf("%s on %s is charged %s, the story says %s", l.Account, l.Partition, got, l.Amount)
		}
	}
	for k, n := range lines {
		if far(n, 0) && len(want.Lines) > 0 {
			t.Errorf("%s on %s is charged %s, the story does not name it", k.account, k.partition, n)
		}
	}
	b.checkUnpriced(t, want, unpriced)
}

type lineKey struct {
	account   string
	partition gpu.PartitionID
}

// sums adds the GPU entries up: in all, by line, and milliseconds without a
// price by account.
func (b *billed) sums() (sum money.Sum, lines map[lineKey]money.Nano, unpriced map[string]int64) {
	lines, unpriced = map[lineKey]money.Nano{}, map[string]int64{}
	for _, e := range b.entries {
		switch {
		case e.Resource != allocation.ResourceGPU:
		case e.Amount == nil:
			unpriced[e.Account] += e.ShareMS
		default:
			sum.Add(*e.Amount)
			lines[lineKey{e.Account, e.Partition}] += *e.Amount
		}
	}
	return sum, lines, unpriced
}

func (b *billed) checkUnpriced(t *testing.T, want moneyOf, unpriced map[string]int64) {
	t.Helper()
	for _, u := range want.Unpriced {
		if far(hours(unpriced[u.Account]), amount(t, u.Hours)) {
			t.Errorf("%s has %s unpriced GPU-hours, the story says %s", u.Account, hours(unpriced[u.Account]), u.Hours)
		}
		delete(unpriced, u.Account)
	}
	for account, ms := range unpriced {
		t.Errorf("%s has %s unpriced GPU-hours, the story does not name it", account, hours(ms))
	}
	for _, n := range want.Nulls {
		account, ok := strings.CutSuffix(n, " money")
		for _, e := range b.entries {
			if ok && e.Account == account && e.Amount != nil {
				t.Errorf("the money of %s is %s, the story says it is unknown", account, *e.Amount)
			}
		}
	}
}

func hours(ms int64) money.Nano { return money.Nano(ms) * 1000 / 3600 * 1000 }

func (b *billed) called(id gpu.PartitionID, name string) bool {
	if id.String() == name {
		return true
	}
	for _, n := range b.names[id] {
		if string(n) == name {
			return true
		}
	}
	return false
}

func far(a, b money.Nano) bool { return max(a-b, b-a) > tolerance }

func amount(t *testing.T, text string) money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
