// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// pass makes the batches at positions [from, to) whole, half of the tables on
// each of two connections: DuckDB hands out an answer to one reader only, and
// making records of it is as much work again.
func (h *hourReader) pass(ctx context.Context, other *columnar, from, to int) error {
	beside := *h
	beside.conn, beside.memo = other, newMemo()
	halves := []struct {
		*pass
		tables func(context.Context, *pass) error
	}{
		{&pass{hourReader: h, from: int32(from), to: int32(to)}, partitionsAndPods},
		{&pass{hourReader: &beside, from: int32(from), to: int32(to)}, holdersAndGrants},
	}
	errs := make([]error, len(halves))
	var wg sync.WaitGroup
	for i, half := range halves {
		wg.Go(func() {
			errs[i] = half.atOneMoment(ctx, func(ctx context.Context) error {
				return errors.Join(half.stillThere(ctx), half.tables(ctx, half.pass))
			})
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func partitionsAndPods(ctx context.Context, p *pass) error {
	if err := gather(ctx, p, partitionTable, func(b *usage.Batch) *[]usage.PartitionRecord { return &b.Partitions }, readPartition); err != nil {
		return err
	}
	if err := gather(ctx, p, podTable, func(b *usage.Batch) *[]usage.PodRecord { return &b.Pods }, readPod); err != nil {
		return err
	}
	return gather(ctx, p, findingTable, func(b *usage.Batch) *[]usage.FindingRecord { return &b.Findings }, readFinding)
}

func holdersAndGrants(ctx context.Context, p *pass) error {
	if err := gather(ctx, p, holderTable, func(b *usage.Batch) *[]usage.Record { return &b.Holders }, readHolder); err != nil {
		return err
	}
	return gather(ctx, p, grantTable, func(b *usage.Batch) *[]usage.GrantRecord { return &b.Grants }, readGrant)
}

// stillThere reports an hour that was dropped while it is read.
func (h *hourReader) stillThere(ctx context.Context) error {
	found := 0
	err := h.ask(ctx, batchTable, true, func(r *row) {
		r.skip(batchColumn)
		if _, ok := h.index[r.i64()]; ok {
			found++
		}
	})
	if err == nil && found != len(h.index) {
		err = fmt.Errorf("%d of %d batches are gone: the hour was dropped meanwhile", len(h.index)-found, len(h.index))
	}
	return err
}

type pass struct {
	*hourReader
	from, to int32
}

const batchColumn = 1 // of every table of rows: hour, batch, line, ...

// gather reads one table and puts its records into the batches of the pass. The
// rows of a batch were written together and lie together, so they are found by
// runs: mostly one each, two where a chunk ends among them.
func gather[T any](ctx context.Context, p *pass, t table, list func(*usage.Batch) *[]T, read func(*row, *words) T) error {
	put := func(ch *chunk) error {
		r := row{memo: p.memo}
		number := func(i int) int64 {
			r.reset(ch, i)
			r.skip(batchColumn)
			return r.i64()
		}
		for from := 0; from < ch.size; {
			n, to := number(from), from+1
			for to < ch.size && number(to) == n {
				to++
			}
			at, ok := p.index[n]
			if ok && at >= p.from && at < p.to {
				into := list(&p.heads[at].batch)
				*into = putRun(p, &r, ch, from, to, *into, read)
			}
			from = to
		}
		return p.memo.err
	}
	for _, query := range p.queries(t, true) {
		if err := p.conn.each(ctx, query, t.columns, put); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// putRun reads the rows [from, to) of one batch. Each says in which line it stands.
func putRun[T any](p *pass, r *row, ch *chunk, from, to int, into []T, read func(*row, *words) T) []T {
	have := len(into)
	into = slices.Grow(into, to-from)
	for i := from; i < to; i++ {
		r.reset(ch, i)
		r.skip(batchColumn + 1)
		// In order they come; where they do not, the next run fills what is open.
		line := int(r.u32())
		if line > have+4*passBatches {
			p.memo.fail(fmt.Errorf("line %d of a batch", line))
			return into
		}
		for line >= len(into) {
			into = append(into, *new(T))
		}
		into[line] = read(r, &p.words)
	}
	return into
}

func sortHeads(heads []head) {
	slices.SortFunc(heads, func(a, b head) int {
		return cmp.Or(journal.SourceOf(&a.batch).Compare(journal.SourceOf(&b.batch)), cmp.Compare(a.batch.Seq, b.batch.Seq))
	})
}

func newWords() (w words) {
	w.places.kind, w.owners.kind, w.entitlements.kind, w.facts.kind = "place", "owner", "entitlement", "facts"
	return w
}
