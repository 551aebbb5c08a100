// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"testing"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// TestWhatCannotBeHeldIsRefusedByName: text that is no UTF-8 cannot come through
// JSON, and DuckDB cannot hold it. It takes no other batch with it.
func TestWhatCannotBeHeldIsRefusedByName(t *testing.T) {
	for field, spoil := range map[string]func(*usage.Batch){
		"node":      func(b *usage.Batch) { b.Node = "a\xffb" },
		"a reason":  func(b *usage.Batch) { b.Partitions[0].Slot = "\xc3\x28" },
		"long text": func(b *usage.Batch) { b.Holders[0].Holder.Pod = "this is a long name with \xff in it" },
	} {
		t.Run(field, func(t *testing.T) {
			s, _ := opened(t, t.TempDir())
			group := []usage.Batch{storetest.Minute("a", "b", 1, 1, 1), storetest.Minute("a", "b", 2, 1, 1), storetest.Minute("a", "b", 3, 1, 1)}
			spoil(&group[1])
			_, err := s.Append(context.Background(), group)
			var r *journal.Refusal
			if !errors.As(err, &r) || r.Index != 1 || r.Seq != 2 || r.Code != journal.RefusedByStore {
				t.Fatalf("%v, want batch 2 refused", err)
			}
			n, err := s.Append(context.Background(), []usage.Batch{group[0], group[2]})
			if a := ackOf(s).Accepted; err != nil || n != 2 || a.Has(2) || !a.Has(3) {
				t.Errorf("%d new, %+v, %v", n, a, err)
			}
		})
	}
}
