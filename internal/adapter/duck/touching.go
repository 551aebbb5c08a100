// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Touching walks the windows that overlap the hours of [from, to), and the batches
// whose gap does, of one node (in any cluster) or of all (""). Those of one node
// follow one another, by cluster, agent, boot and number, each batch once. What is
// yielded is not to be changed.
func (s *Store) Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		first, last := hourOf(from.UnixMilli()), hourOf(to.UnixMilli()-1)
		err := s.walkTouching(ctx, first, last, node, func(b usage.Batch) bool { return yield(b, nil) })
		if err != nil {
			yield(usage.Batch{}, fmt.Errorf("read what touches the hours from %s to %s: %w", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), err))
		}
	}
}

// touching is what overlaps some hours: batches, and gaps.
type touching struct {
	*hourReader
	gaps []usage.Batch
}

func (s *Store) walkTouching(ctx context.Context, first, last int32, node string, yield func(usage.Batch) bool) error {
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
	t, err := s.openTouching(ctx, conn, first, last, node)
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
func (s *Store) openTouching(ctx context.Context, conn *columnar, first, last int32, node string) (*touching, error) {
	start, end := int64(first)*hourMS, int64(last+1)*hourMS
	t := &touching{hourReader: &hourReader{
		conn: conn, files: &s.files, raw: s.sealedPath(""), node: node, memo: newMemo(), words: newWords(),
		wanted: func(b *usage.Batch) bool {
			return overlaps(b.StartMS, b.DurationMS, start, end) || b.Gap != nil && overlaps(b.Gap.StartMS, b.Gap.DurationMS, start, end)
		},
	}}
	for h := first; h <= last; h++ {
		t.hours = append(t.hours, h)
	}
	err := t.atOneMoment(ctx, func(ctx context.Context) error {
		before, err := t.reaching(ctx, first)
		if err != nil {
			return err
		}
		t.hours = append(before, t.hours...)
		if t.sealed, err = conn.sealedDirectories(ctx, t.hours); err != nil {
			return err
		}
		return t.open(ctx)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(t.heads, func(a, b head) int { return compareByNode(a.batch, b.batch) })
	t.place()
	known := map[journal.Source]map[uint64]bool{}
	for i := range t.heads {
		src := journal.SourceOf(&t.heads[i].batch)
		if known[src] == nil {
			known[src] = map[uint64]bool{}
		}
		known[src][t.heads[i].batch.Seq] = true
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

// reaching are the hours before one in which windows began that reach into it, in
// order. A window is a minute; it is hours where a machine slept. It is asked in the
// transaction of what is read then: an hour that is sealed in between would be found
// neither in the tables nor in files.
func (h *hourReader) reaching(ctx context.Context, hour int32) (out []int32, err error) {
	query := fmt.Sprintf(`SELECT hour FROM usage_batch WHERE hour < %d AND start_ms::HUGEINT + duration_ms > %d
		UNION SELECT hour FROM usage_sealed WHERE hour < %[1]d AND until_ms > %[2]d ORDER BY hour`, hour, int64(hour)*hourMS)
	err = h.conn.rows(ctx, query, columnsOf("hour", integer), newMemo(), func(r *row) { out = append(out, r.i32()) })
	return out, err
}

func overlaps(start, duration, from, to int64) bool {
	return start < to && (plus(start, duration) > from || start >= from)
}

func compareByNode(a, b usage.Batch) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Cluster, b.Cluster),
		journal.SourceOf(&a).Compare(journal.SourceOf(&b)), cmp.Compare(a.Seq, b.Seq))
}

// next makes the batches of the next nodes whole, about passBatches of them; none
// are left where it returns none.
func (t *touching) next(ctx context.Context, other *columnar) ([]usage.Batch, error) {
	n, gaps := len(t.heads), len(t.gaps)
	if n > passBatches {
		last := t.heads[passBatches-1].batch.Node
		n = sort.Search(n, func(i int) bool { return t.heads[i].batch.Node > last })
		gaps = sort.Search(gaps, func(i int) bool { return t.gaps[i].Node > last })
	}
	out, err := t.take(ctx, other, n)
	if err != nil {
		return nil, err
	}
	out = append(out, t.gaps[:gaps]...)
	t.gaps = t.gaps[gaps:]
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
	h.place()
	return out, nil
}
