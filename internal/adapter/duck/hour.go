// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// Hour walks the batches that began in one hour, of one node or of all (""), by
// agent, boot and sequence number, whether they are in the tables or sealed,
// all as of the moment of the call. What it yields shares parts with what it yields later:
// it is not to be changed. The first error is yielded, and is the last.
//
// The rows of an hour lie in the order of their arrival, not of agents. Sorting
// them costs many times the reading, so they are read once for every so many
// batches (passBatches), and what is not among those is passed over.
func (s *Store) Hour(ctx context.Context, hour time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		err := s.walkHour(ctx, hourOf(hour.UnixMilli()), node, func(b usage.Batch) bool { return yield(b, nil) })
		if err != nil {
			yield(usage.Batch{}, fmt.Errorf("read hour %s: %w", hour.UTC().Format(time.RFC3339), err))
		}
	}
}

// passBatches bounds how many batches are packed at a time: of nodes with 8 GPUs
// and 24 holders some 200 MB.
const passBatches = 131_072

// walkHour hands out batches until none is left or yield says no.
func (s *Store) walkHour(ctx context.Context, hour int32, node string, yield func(usage.Batch) bool) error {
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
	h := &hourReader{conn: conn, other: other, files: &s.files, raw: s.sealedPath(""), hours: []int32{hour}, node: node, memo: newMemo(), words: newWords(), order: compareBySource}
	if err := h.atOneMoment(ctx, h.open); err != nil {
		return err
	}
	opener := newOpener()
	for from := 0; from < len(h.heads); from += passBatches {
		parcels, err := h.pack(ctx, from, min(from+passBatches, len(h.heads)))
		if err != nil {
			return err
		}
		for i := range parcels.heads {
			var b usage.Batch
			if err := opener.batch(&b, parcels, i); err != nil {
				return err
			}
			if !yield(b) {
				return nil
			}
		}
	}
	return nil
}

// Gaps walks the gap batches whose gap overlaps [from, to), of one node or of
// all, by agent, boot and sequence number. They have no records.
func (s *Store) Gaps(ctx context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		batches, err := s.gaps(ctx, from.UnixMilli(), to.UnixMilli(), node)
		if err != nil {
			yield(usage.Batch{}, fmt.Errorf("read gaps: %w", err))
			return
		}
		for _, b := range batches {
			if !yield(b, nil) {
				return
			}
		}
	}
}

func (s *Store) gaps(ctx context.Context, from, to int64, node string) (out []usage.Batch, err error) {
	if err := s.usable(); err != nil {
		return nil, err
	}
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	where := fmt.Sprintf("gap_start_ms < %d AND (gap_start_ms::HUGEINT + gap_duration_ms > %d OR gap_start_ms >= %d)", to, from, from)
	if node != "" {
		where += " AND node = " + literal(node)
	}
	query := "SELECT " + gapTable.list() + " FROM usage_gap WHERE " + where + " ORDER BY agent, boot, seq"
	err = conn.rows(ctx, query, gapTable.columns, newMemo(), func(r *row) {
		_, b := readGap(r)
		out = append(out, b)
	})
	return out, err
}

// literal is a text in SQL. A byte 0 would end the statement, so it is added by its
// number.
func literal(text string) string {
	quoted := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if !strings.Contains(quoted, "\x00") {
		return quoted
	}
	return "(" + strings.ReplaceAll(quoted, "\x00", "' || chr(0) || '") + ")"
}

// hourReader reads the tables of some hours.
//
// No transaction is open while batches are handed out: an old one would keep
// everybody from making checkpoints. The rows of a batch never change and are
// either in the tables or sealed, so what was not there at first is passed over,
// and what moved meanwhile is found where it is now.
type hourReader struct {
	conn   *columnar
	other  *columnar // for what is read beside
	files  *sync.RWMutex
	raw    string // where sealed hours lie
	hours  []int32
	node   string
	sealed []string // directories of the hours' Parquet files

	// wanted, where it is set, says which batches count.
	wanted func(*usage.Batch) bool
	// order is that in which they are handed out.
	order func(a, b *usage.Batch) int

	memo  *memo
	words words
	heads []*head // in order
	index numbered[int32]
	room  []head // for the heads to come
}

// head is a batch without its records.
type head struct {
	number int64
	batch  usage.Batch
}

// headsAtOnce is for how many heads memory is asked at a time: a list of all would
// be moved and cleared again and again as it grows.
const headsAtOnce = 512

// keep keeps a head.
func (h *hourReader) keep(number int64, b usage.Batch) {
	if len(h.room) == cap(h.room) {
		h.room = make([]head, 0, headsAtOnce)
	}
	h.room = append(h.room, head{number, b})
	h.heads = append(h.heads, &h.room[len(h.room)-1])
}

func compareBySource(a, b *usage.Batch) int {
	return cmp.Or(journal.SourceOf(a).Compare(journal.SourceOf(b)), cmp.Compare(a.Seq, b.Seq))
}

func newWords() (w words) {
	w.places.kind, w.owners.kind, w.entitlements.kind, w.facts.kind = "place", "owner", "entitlement", "facts"
	return w
}

// atOneMoment runs f within one transaction, while no file is removed.
func (h *hourReader) atOneMoment(ctx context.Context, f func(context.Context) error) error {
	h.files.RLock()
	defer h.files.RUnlock()
	return h.inTransaction(ctx, f)
}

// inTransaction is atOneMoment for those who see to the files.
func (h *hourReader) inTransaction(ctx context.Context, f func(context.Context) error) (err error) {
	if err := h.conn.exec(ctx, "BEGIN TRANSACTION READ ONLY"); err != nil {
		return err
	}
	if h.sealed, err = h.conn.sealedDirectories(ctx, h.hours); err == nil {
		err = f(ctx)
	}
	return errors.Join(err, h.conn.exec(context.WithoutCancel(ctx), "COMMIT"))
}

// open reads what batches there are and their gaps, and the words of the hours. Half
// of the words, those with most rows, is read beside the others on the other
// connection. It is called within atOneMoment.
func (h *hourReader) open(ctx context.Context) error {
	beside := *h
	beside.conn, beside.memo = h.other, newMemo()
	read := make(chan error, 1)
	go func() { read <- beside.inTransaction(ctx, beside.readGrantees) }()
	err := errors.Join(h.readHeads(ctx), h.readPlaces(ctx), <-read)
	h.words.owners, h.words.entitlements = beside.words.owners, beside.words.entitlements
	return err
}

// readHeads reads what batches there are, and their gaps.
func (h *hourReader) readHeads(ctx context.Context) error {
	err := h.ask(ctx, batchTable, true, func(r *row) {
		at, b := readBatch(r)
		h.keep(at.batch, b)
	})
	if err != nil {
		return err
	}
	if err := h.readGaps(ctx); err != nil {
		return err
	}
	if h.wanted != nil {
		h.heads = slices.DeleteFunc(h.heads, func(head *head) bool { return !h.wanted(&head.batch) })
	}
	slices.SortFunc(h.heads, func(a, b *head) int { return h.order(&a.batch, &b.batch) })
	h.place()
	return nil
}

// readGaps gives the heads their gaps. Few have one.
func (h *hourReader) readGaps(ctx context.Context) error {
	gaps := map[int64]*usage.Gap{}
	err := h.conn.rows(ctx, "SELECT "+gapTable.list()+" FROM usage_gap WHERE "+h.inHours(), gapTable.columns, h.memo, func(r *row) {
		at, b := readGap(r)
		gaps[at.batch] = b.Gap
	})
	if err != nil || len(gaps) == 0 {
		return err
	}
	for _, head := range h.heads {
		if g, ok := gaps[head.number]; ok {
			head.batch.Gap = g
		}
	}
	return nil
}

// place notes where each batch stands among the heads. The one of the least number
// comes first: numbers are kept from there on.
func (h *hourReader) place() {
	h.index = numbered[int32]{}
	if len(h.heads) == 0 {
		return
	}
	least := 0
	for i, head := range h.heads {
		if head.number < h.heads[least].number {
			least = i
		}
	}
	h.index.put(h.heads[least].number, int32(least))
	for i, head := range h.heads {
		h.index.put(head.number, int32(i))
	}
}

// inHours is the hours in SQL.
func (h *hourReader) inHours() string {
	if n := len(h.hours); n > 0 && int(h.hours[n-1]-h.hours[0]) == n-1 {
		return fmt.Sprintf("hour BETWEEN %d AND %d", h.hours[0], h.hours[n-1])
	}
	var list []string
	for _, hour := range h.hours {
		list = append(list, strconv.Itoa(int(hour)))
	}
	return "hour IN (" + strings.Join(list, ", ") + ")"
}

// readPlaces reads what partitions look like and what pods belong to.
func (h *hourReader) readPlaces(ctx context.Context) error {
	w := &h.words
	if err := h.ask(ctx, placeTable, false, func(r *row) { id, p := readPlace(r); w.places.put(id, &p) }); err != nil {
		return err
	}
	return h.ask(ctx, factsTable, false, func(r *row) { w.facts.put(readFacts(r)) })
}

// readGrantees reads the owners, and what was granted to them.
func (h *hourReader) readGrantees(ctx context.Context) error {
	w := &h.words
	if err := h.ask(ctx, ownerTable, false, func(r *row) { w.owners.put(readOwner(r)) }); err != nil {
		return err
	}
	return h.ask(ctx, entitlementTable, false, func(r *row) { w.entitlements.put(readEntitlement(r, &w.owners)) })
}

// ask reads one table of the hour row by row.
func (h *hourReader) ask(ctx context.Context, t table, byBatch bool, f func(*row)) error {
	for _, query := range h.queries(t, byBatch) {
		if err := h.conn.rows(ctx, query, t.columns, h.memo, f); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// queries are those for what is in a table and for what of it is sealed.
func (h *hourReader) queries(t table, byBatch bool) []string {
	where := " WHERE " + h.inHours()
	if byBatch && h.node != "" {
		where += " AND batch IN (" + h.batchesOfNode() + ")"
	}
	out := []string{"SELECT " + t.list() + " FROM " + t.name + where}
	if len(h.sealed) > 0 {
		out = append(out, "SELECT "+t.list()+" FROM "+h.parquet(t)+where)
	}
	return out
}

func (h *hourReader) parquet(t table) string {
	var files []string
	for _, directory := range h.sealed {
		files = append(files, literal(filepath.Join(h.raw, directory, t.name+parquetSuffix)))
	}
	return inFiles(t, files...)
}

// inFiles is the rows of a table in sealed files, as a relation. What a later schema
// added to the table is NULL in files of an earlier one.
func inFiles(t table, files ...string) string {
	return "(SELECT * FROM read_parquet([" + strings.Join(files, ", ") + "], union_by_name = true) UNION ALL BY NAME SELECT * FROM " + t.name + " WHERE false)"
}

func (h *hourReader) batchesOfNode() string {
	of := " WHERE node = " + literal(h.node)
	q := "SELECT batch FROM usage_batch" + of + " AND " + h.inHours()
	if len(h.sealed) > 0 {
		q += " UNION ALL SELECT batch FROM " + h.parquet(batchTable) + of
	}
	return q
}
