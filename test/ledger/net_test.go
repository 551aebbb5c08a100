// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/workload"
)

// net is what an entry is now: the facts of its last line, and the sums of all.
type net struct {
	Account, From, Note, Namespace, Pod, Unit, Slot, Partition string
	Kind                                                       allocation.Kind
	Resource                                                   allocation.Resource
	Holder                                                     workload.Kind
	Currency                                                   money.Currency
	Amount, Moved                                              money.Nano
	ledger.Quantities
}

// netOf sums lines by entry. An entry that was taken back whole is none.
func netOf(lines []ledger.Line) map[string]net {
	out := map[string]net{}
	for i := range lines {
		l := &lines[i]
		if l.IsDrift() {
			continue
		}
		n := out[l.Entry]
		n.Account, n.From, n.Note, n.Namespace, n.Pod, n.Unit = l.Account, l.From, l.Note, l.Holder.Namespace, l.Holder.Pod, l.Holder.Unit
		n.Slot, n.Partition, n.Kind, n.Resource, n.Holder, n.Currency = l.Slot, l.Partition.String(), l.EntryKind, l.Resource, l.Holder.Kind, l.Currency
		if l.Amount != nil {
			n.Amount += *l.Amount
		}
		if l.Moved != nil {
			n.Moved += *l.Moved
		}
		n.plus(&l.Quantities)
		out[l.Entry] = n
	}
	maps.DeleteFunc(out, func(_ string, n net) bool { return n.Amount == 0 && n.Quantities == (ledger.Quantities{}) })
	return out
}

func (n *net) plus(q *ledger.Quantities) {
	n.ShareMS, n.UsedMS, n.UnusedMS = n.ShareMS+q.ShareMS, n.UsedMS+q.UsedMS, n.UnusedMS+q.UnusedMS
	n.PresentMS, n.GrantedMS = n.PresentMS+q.PresentMS, n.GrantedMS+q.GrantedMS
	n.CPUNanos, n.CPURequestMilliMS = n.CPUNanos+q.CPUNanos, n.CPURequestMilliMS+q.CPURequestMilliMS
	n.ByteMS.Add(q.ByteMS)
	n.RequestByteMS.Add(q.RequestByteMS)
}

// netOfOutcomes is what the pure cores say that the entries are.
func netOfOutcomes(t testing.TB, outcomes []rating.Outcome) map[string]net {
	t.Helper()
	var lines []ledger.Line
	for i := range outcomes {
		o := &outcomes[i]
		booked, err := ledger.Book(nil, ledger.Rating{NodeHour: o.NodeHour, Entries: o.Entries}, ledger.NewPeriods(nil, nil))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, booked...)
	}
	return netOf(lines)
}

// digest is the net entries as bytes, in order: equal books have equal bytes.
func digest(t testing.TB, of map[string]net) string {
	t.Helper()
	text := ""
	for _, id := range slices.Sorted(maps.Keys(of)) {
		line, err := json.Marshal(of[id])
		if err != nil {
			t.Fatal(err)
		}
		text += id + " " + string(line) + "\n"
	}
	return text
}

// sameBooks fails where two ledgers say different things.
func sameBooks(t testing.TB, want, got map[string]net) {
	t.Helper()
	if len(want) == 0 {
		t.Fatal("nothing to compare with")
	}
	differ := 0
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if diff := cmp.Diff(want[id], got[id], cmp.AllowUnexported(ledger.Wide{})); diff != "" {
			if differ++; differ == 1 {
				t.Errorf("entry %s (-want +got):\n%s", id, diff)
			}
		}
	}
	for id := range got {
		if _, ok := want[id]; !ok {
			if differ++; differ == 1 {
				t.Errorf("entry %s is too many: %+v", id, got[id])
			}
		}
	}
	if differ > 0 {
		t.Fatalf("%d of %d entries differ", differ, len(want))
	}
}

// sumOf adds up net amounts.
func sumOf(of map[string]net) (s money.Sum) {
	for _, n := range of {
		s.Add(n.Amount)
	}
	return s
}
