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
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// Touching walks the windows that overlap the hours of [from, to), and the batches
// whose gap does, of one node (in any cluster) or of all (""): those of each node of
// a cluster together, by agent, boot and number, each batch once. They are read from
// the database before they are handed out, and opened when they are read.
func (s *Store) Touching(ctx context.Context, from, to time.Time, node string) iter.Seq2[rating.Windows, error] {
	return func(yield func(rating.Windows, error) bool) {
		first, last := hourOf(from.UnixMilli()), hourOf(to.UnixMilli()-1)
		err := s.walkTouching(ctx, first, last, node, func(w rating.Windows) bool { return yield(w, nil) })
		if err != nil {
			yield(rating.Windows{}, fmt.Errorf("read what touches the hours from %s to %s: %w", from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339), err))
		}
	}
}

// touching is what overlaps some hours: batches, and gaps.
type touching struct {
	*hourReader
	gaps []usage.Batch
}

func (s *Store) walkTouching(ctx context.Context, first, last int32, node string, yield func(rating.Windows) bool) error {
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
	t, err := s.openTouching(ctx, conn, other, first, last, node)
	if err != nil {
		return err
	}
	for len(t.heads) > 0 || len(t.gaps) > 0 {
		parcels, gaps, err := t.next(ctx)
		if err != nil {
			return err
		}
		if !handOut(parcels, gaps, yield) {
			return nil
		}
	}
	return nil
}

// openTouching finds the batches, without their records.
func (s *Store) openTouching(ctx context.Context, conn, other *columnar, first, last int32, node string) (*touching, error) {
	start, end := int64(first)*hourMS, int64(last+1)*hourMS
	t := &touching{hourReader: &hourReader{
		conn: conn, other: other, files: &s.files, raw: s.sealedPath(""), node: node, memo: newMemo(), words: newWords(), order: compareByNode,
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
	gaps, err := s.gaps(ctx, start, end, node)
	if err != nil || len(gaps) == 0 {
		return t, err
	}
	t.beside(gaps)
	return t, nil
}

// beside keeps, of gaps, those whose batches are not among the heads.
func (t *touching) beside(gaps []usage.Batch) {
	type name struct {
		journal.Source
		seq uint64
	}
	known := map[name]bool{}
	for _, h := range t.heads {
		known[name{journal.SourceOf(&h.batch), h.batch.Seq}] = true
	}
	t.gaps = slices.DeleteFunc(gaps, func(b usage.Batch) bool { return known[name{journal.SourceOf(&b), b.Seq}] })
	sortByNode(t.gaps)
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

func compareByNode(a, b *usage.Batch) int {
	if d := compareNodes(a, b); d != 0 {
		return d
	}
	return compareBySource(a, b)
}

func sortByNode(batches []usage.Batch) {
	slices.SortFunc(batches, func(a, b usage.Batch) int { return compareByNode(&a, &b) })
}

// next packs the batches of the next nodes, about passBatches of them, and takes them
// off what is left, with the gaps of these nodes.
func (t *touching) next(ctx context.Context) (*parcels, []usage.Batch, error) {
	n, gaps := len(t.heads), len(t.gaps)
	if n > passBatches {
		last := t.heads[passBatches-1].batch.Node
		n = sort.Search(n, func(i int) bool { return t.heads[i].batch.Node > last })
		gaps = sort.Search(gaps, func(i int) bool { return t.gaps[i].Node > last })
	}
	out := &parcels{}
	if n > 0 {
		var err error
		if out, err = t.pack(ctx, 0, n); err != nil {
			return nil, nil, err
		}
	}
	of := t.gaps[:gaps]
	t.heads, t.gaps = t.heads[n:], t.gaps[gaps:]
	t.place()
	return out, of, nil
}

// handOut yields what is packed and the gaps, node after node, until none is left or
// yield says no. Both are in order of nodes.
func handOut(p *parcels, gaps []usage.Batch, yield func(rating.Windows) bool) bool {
	for from := 0; from < len(p.heads) || len(gaps) > 0; {
		of := firstOf(p.heads[from:], gaps)
		to := from
		for to < len(p.heads) && compareNodes(&p.heads[to].batch, of) == 0 {
			to++
		}
		n := 0
		for n < len(gaps) && compareNodes(&gaps[n], of) == 0 {
			n++
		}
		first, beside := from, gaps[:n]
		w := rating.Windows{Cluster: of.Cluster, Node: of.Node, Batches: to - from + n, Done: spare}
		w.Read = func() ([]usage.Batch, error) { return p.open(first, to, beside) }
		if !yield(w) {
			return false
		}
		from, gaps = to, gaps[n:]
	}
	return true
}

// firstOf is the batch of the first node.
func firstOf(heads []*head, gaps []usage.Batch) *usage.Batch {
	if len(heads) == 0 || len(gaps) > 0 && compareNodes(&gaps[0], &heads[0].batch) < 0 {
		return &gaps[0]
	}
	return &heads[0].batch
}

// openers are those that nobody uses, with memory that was given back.
var openers = sync.Pool{New: func() any { return newOpener() }}

// open makes the batches at positions [from, to), and puts gaps among them.
func (p *parcels) open(from, to int, gaps []usage.Batch) ([]usage.Batch, error) {
	o := openers.Get().(*opener)
	out := make([]usage.Batch, 0, to-from+len(gaps))
	for i := from; i < to; i++ {
		out = append(out, usage.Batch{})
		if err := o.batch(&out[len(out)-1], p, i); err != nil {
			return nil, err
		}
	}
	openers.Put(o)
	if len(gaps) > 0 {
		out = append(out, gaps...)
		sortByNode(out)
	}
	return out, nil
}

// sparesKept bounds of how many batches an opener keeps the memory.
const sparesKept = 4096

// spare takes back the memory of batches.
func spare(batches []usage.Batch) {
	o := openers.Get().(*opener)
	if len(o.spare)+len(batches) <= sparesKept {
		o.spare = append(o.spare, batches...)
	}
	openers.Put(o)
}

func compareNodes(a, b *usage.Batch) int {
	return cmp.Or(strings.Compare(a.Node, b.Node), strings.Compare(a.Cluster, b.Cluster))
}
