// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Touching walks the windows that overlap an hour, and the batches whose gap does,
// of one node (in any cluster) or of all (""). Those of one node follow one another,
// by cluster, agent, boot and number, each batch once. What is yielded is not to be
// changed.
func (s *Store) Touching(ctx context.Context, hour time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		err := s.walkTouching(ctx, hourOf(hour.UnixMilli()), node, func(b usage.Batch) bool { return yield(b, nil) })
		if err != nil {
			yield(usage.Batch{}, fmt.Errorf("read what touches hour %s: %w", hour.UTC().Format(time.RFC3339), err))
		}
	}
}

// touching is what overlaps an hour: batches of some hours, and gaps.
type touching struct {
	readers []*hourReader
	gaps    []usage.Batch
}

func (s *Store) walkTouching(ctx context.Context, hour int32, node string, yield func(usage.Batch) bool) error {
	if err := s.usable(); err != nil {
		return err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	other, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer other.close()
	t, err := s.openTouching(ctx, conn, hour, node)
	if err != nil {
		return err
	}
	for {
		group, err := t.next(ctx, other)
		if err != nil || len(group) == 0 {
			return err
		}
		for _, b := range group {
			if !yield(b) {
				return nil
			}
		}
	}
}

// openTouching finds the batches, without their records.
func (s *Store) openTouching(ctx context.Context, conn *columnar, hour int32, node string) (*touching, error) {
	start, end := int64(hour)*hourMS, int64(hour+1)*hourMS
	t := &touching{}
	before, err := s.hoursReaching(ctx, conn, hour)
	if err != nil {
		return nil, err
	}
	for _, h := range append(before, hour) {
		r := &hourReader{conn: conn, files: &s.files, raw: s.sealedPath(""), hour: h, node: node, memo: newMemo(), words: newWords()}
		if err := r.atOneMoment(ctx, r.open); err != nil {
			return nil, err
		}
		r.keep(func(b *usage.Batch) bool {
			return overlaps(b.StartMS, b.DurationMS, start, end) || b.Gap != nil && overlaps(b.Gap.StartMS, b.Gap.DurationMS, start, end)
		})
		t.readers = append(t.readers, r)
	}
	known := map[journal.Source]map[uint64]bool{}
	for _, r := range t.readers {
		for i := range r.heads {
			src := journal.SourceOf(&r.heads[i].batch)
			if known[src] == nil {
				known[src] = map[uint64]bool{}
			}
			known[src][r.heads[i].batch.Seq] = true
		}
	}
	gaps, err := s.gaps(ctx, start, end, node)
	if err != nil {
		return nil, err
	}
	for _, b := range gaps {
		if !known[journal.SourceOf(&b)][b.Seq] {
			t.gaps = append(t.gaps, b)
		}
	}
	slices.SortFunc(t.gaps, compareByNode)
	return t, nil
}

// hoursReaching are the hours before one in which windows began that reach into it:
// mostly the one before. A window is a minute; it is longer where a machine slept.
func (s *Store) hoursReaching(ctx context.Context, conn *columnar, hour int32) (out []int32, err error) {
	start := int64(hour) * hourMS
	query := fmt.Sprintf(`SELECT DISTINCT hour FROM usage_batch WHERE hour < %d AND start_ms + duration_ms > %d ORDER BY hour`, hour-1, start)
	err = conn.rows(ctx, query, columnsOf("hour", integer), newMemo(), func(r *row) { out = append(out, r.i32()) })
	return append(out, hour-1), err
}

func overlaps(start, duration, from, to int64) bool {
	return start < to && (plus(start, duration) > from || start >= from)
}

func compareByNode(a, b usage.Batch) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Cluster, b.Cluster),
		journal.SourceOf(&a).Compare(journal.SourceOf(&b)), cmp.Compare(a.Seq, b.Seq))
}

// keep leaves only some batches, and orders them by node.
func (h *hourReader) keep(wanted func(*usage.Batch) bool) {
	h.heads = slices.DeleteFunc(h.heads, func(head head) bool { return !wanted(&head.batch) })
	slices.SortFunc(h.heads, func(a, b head) int { return compareByNode(a.batch, b.batch) })
	h.index = make(map[int64]int32, len(h.heads))
	for i, head := range h.heads {
		h.index[head.number] = int32(i)
	}
}

// next makes the batches of the next nodes whole, about passBatches of them; none
// are left where it returns none.
func (t *touching) next(ctx context.Context, other *columnar) (out []usage.Batch, err error) {
	last := ""
	most := t.readers[len(t.readers)-1] // the hour itself has nearly all
	if n := min(passBatches, len(most.heads)); n > 0 {
		last = most.heads[n-1].batch.Node
	}
	for _, r := range t.readers {
		n := len(r.heads)
		if last != "" {
			n = 0
			for n < len(r.heads) && r.heads[n].batch.Node <= last {
				n++
			}
		}
		batches, err := r.take(ctx, other, n)
		if err != nil {
			return nil, err
		}
		out = append(out, batches...)
	}
	n := len(t.gaps)
	if last != "" {
		n = 0
		for n < len(t.gaps) && t.gaps[n].Node <= last {
			n++
		}
	}
	out = append(out, t.gaps[:n]...)
	t.gaps = t.gaps[n:]
	slices.SortFunc(out, compareByNode)
	return out, nil
}

// take makes the first n batches whole and removes them from what is left.
func (h *hourReader) take(ctx context.Context, other *columnar, n int) (out []usage.Batch, err error) {
	if n == 0 {
		return nil, nil
	}
	if err := h.pass(ctx, other, 0, n); err != nil {
		return nil, err
	}
	for i := range n {
		out = append(out, h.heads[i].batch)
	}
	h.heads = h.heads[n:]
	h.index = make(map[int64]int32, len(h.heads))
	for i, head := range h.heads {
		h.index[head.number] = int32(i)
	}
	return out, nil
}
