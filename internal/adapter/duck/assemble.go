// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"github.com/gputally/gputally/internal/core/usage"
)

// The first columns of every table of rows: hour, batch, line.
const (
	batchColumn = 1
	lineColumn  = 2
)

// kind is one kind of record: its table, and how its rows get into a batch.
type kind struct {
	table
	// read puts all rows of a chunk, from the line on, into the batch.
	read func(*usage.Batch, *chunk, *row, *words)
}

// kinds are those that a batch has. readings are they in two halves, which are about
// as much work: DuckDB hands out an answer to one reader only, so each half is read on
// a connection of its own.
var (
	kinds = []*kind{
		kindOf(partitionTable, func(b *usage.Batch) *[]usage.PartitionRecord { return &b.Partitions }, readPartition),
		kindOf(podTable, func(b *usage.Batch) *[]usage.PodRecord { return &b.Pods }, readPod),
		kindOf(findingTable, func(b *usage.Batch) *[]usage.FindingRecord { return &b.Findings }, readFinding),
		kindOf(holderTable, func(b *usage.Batch) *[]usage.Record { return &b.Holders }, readHolder),
		kindOf(grantTable, func(b *usage.Batch) *[]usage.GrantRecord { return &b.Grants }, readGrant),
	}
	readings = [2][]uint8{{0, 1, 2}, {3, 4}}
)

func kindOf[T any](t table, list func(*usage.Batch) *[]T, read func(*row, *words) T) *kind {
	return &kind{table: t, read: func(b *usage.Batch, ch *chunk, r *row, w *words) {
		into := list(b)
		*into = putRows(r, ch, *into, w, read)
	}}
}

// parcels are the records of some batches, packed.
type parcels struct {
	heads  []*head
	halves [len(readings)]*packer
	words  *words
}

// pack reads the records of the heads at positions [from, to).
func (h *hourReader) pack(ctx context.Context, from, to int) (*parcels, error) {
	out := &parcels{heads: h.heads[from:to], words: &h.words}
	beside := *h
	beside.conn, beside.memo = h.other, newMemo()
	readers := [len(readings)]*hourReader{h, &beside}
	var errs [len(readings)]error
	var wg sync.WaitGroup
	for i := range readings {
		out.halves[i] = newPacker(to - from)
		p := &pass{hourReader: readers[i], packer: out.halves[i], from: from, to: to}
		wg.Go(func() {
			errs[i] = p.atOneMoment(ctx, func(ctx context.Context) error { return p.gather(ctx, readings[i]) })
		})
	}
	wg.Wait()
	return out, errors.Join(errs[:]...)
}

// pass is the reading of one half.
type pass struct {
	*hourReader
	packer   *packer
	from, to int
}

// gather reads tables and gives their rows to the batches of the pass. The rows of a
// batch were written together and lie together, so they are found by runs: mostly one
// each, two where a chunk ends among them.
func (p *pass) gather(ctx context.Context, half []uint8) error {
	if err := p.stillThere(ctx); err != nil {
		return err
	}
	for _, k := range half {
		t := &kinds[k].table
		for _, query := range p.queries(*t, true) {
			if err := p.conn.each(ctx, query, t.columns, func(ch *chunk) error { p.take(k, ch); return nil }); err != nil {
				return fmt.Errorf("%s: %w", t.name, err)
			}
		}
	}
	return nil
}

// take packs what of a chunk is wanted.
func (p *pass) take(kind uint8, ch *chunk) {
	batches := unsafe.Slice((*int64)(ch.vectors[batchColumn].data), ch.size)
	for from := 0; from < ch.size; {
		n, to := batches[from], from+1
		for to < ch.size && batches[to] == n {
			to++
		}
		if at, ok := p.index.at(n); ok && int(at) >= p.from && int(at) < p.to {
			p.packer.pack(int(at)-p.from, kind, ch, from, to)
		}
		from = to
	}
}

// stillThere reports an hour that was dropped while it is read.
func (h *hourReader) stillThere(ctx context.Context) error {
	found := 0
	numbers := table{name: batchTable.name, columns: columnsOf("batch", bigint)}
	err := h.ask(ctx, numbers, true, func(r *row) {
		if _, ok := h.index.at(r.i64()); ok {
			found++
		}
	})
	if all := len(h.heads); err == nil && found != all {
		err = fmt.Errorf("%d of %d batches are gone: the hour was dropped meanwhile", all-found, all)
	}
	return err
}

// opener makes batches of parcels. It is not safe for concurrent use; several may
// open the same parcels.
type opener struct {
	unpacker
	row  row
	memo *memo
	// spare are batches whose memory may be used again.
	spare []usage.Batch
}

func newOpener() *opener { return &opener{memo: newMemo()} }

// batch makes one whole.
func (o *opener) batch(b *usage.Batch, p *parcels, i int) error {
	*b = p.heads[i].batch
	if n := len(o.spare); n > 0 {
		s := &o.spare[n-1]
		b.Partitions, b.Holders, b.Grants, b.Pods, b.Findings = s.Partitions[:0], s.Holders[:0], s.Grants[:0], s.Pods[:0], s.Findings[:0]
		o.spare = o.spare[:n-1]
	}
	o.row.memo = o.memo
	for _, half := range p.halves {
		for at := half.first[i]; at >= 0; at = half.runs[at].next {
			run := &half.runs[at]
			kinds[run.kind].read(b, o.unpack(half, run), &o.row, p.words)
		}
	}
	return o.memo.err
}

// putRows puts rows in their lines. In order they come; where they do not, what
// follows fills what is open.
func putRows[T any](r *row, ch *chunk, into []T, w *words, read func(*row, *words) T) []T {
	have := len(into)
	into = slices.Grow(into, ch.size)
	for i := range ch.size {
		r.reset(ch, i)
		r.skip(lineColumn)
		line := int(r.u32())
		if line > have+maxLines {
			r.memo.fail(fmt.Errorf("line %d of a batch", line))
			return into
		}
		if n := len(into); line >= n {
			into = slices.Grow(into, line+1-n)[:line+1]
			clear(into[n:line]) // what was there before
		}
		into[line] = read(r, w)
	}
	return into
}

// maxLines bounds how far ahead of the others a line of a batch may stand.
const maxLines = 1 << 16
