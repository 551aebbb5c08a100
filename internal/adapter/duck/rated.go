// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

var ratedTable = table{name: "ledger_rated", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "booking", integer, "rating", bigint, "complete", boolean, "nodes_json", text, "remarks_json", text,
)}

var costTable = table{name: "ledger_cost", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "piece", integer, "start_ms", bigint, "duration_ms", bigint,
	"priced", boolean, "reason", bigint, "currency", text, "total", bigint, "slots", bigint, "cpu", bigint, "memory", bigint,
	"cpu_milli", bigint, "memory_bytes", ubigint, "basis", bigint,
)}

var hourTable = table{name: "ledger_hour", columns: columnsOf(
	"hour", integer, "cluster", text, "node", text, "currency", text, "cost", hugeint, "amount", hugeint, "apart", hugeint,
	"lines", bigint, "lines_apart", bigint, "pieces", bigint,
)}

// ledgerTables are all that the ledger's rows are in.
var ledgerTables = []table{sortTable, wordTable, ledgerPodTable, ratingTable, lineTable, ratedTable, costTable, hourTable, dueTable,
	rolledTable, dayTable, dayHourTable, closedTable, statementTable, eventTable, textTable, filedTable, billHourTable}

// hourSum is what a node's hour costs in one currency and what its lines come to:
// all of them, and apart, as report.Apart has them.
type hourSum struct {
	currency            money.Currency
	cost, amount, apart money.Sum
	// lines are those with an amount, pieces the costs with a price.
	lines, linesApart, pieces int64
}

func readHourSum(r *row) (h ledger.NodeHour, s hourSum) {
	hour := r.i32()
	h = ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}
	s = hourSum{currency: money.Currency(r.text()), cost: r.sum(), amount: r.sum(), apart: r.sum(), lines: r.i64(), linesApart: r.i64(), pieces: r.i64()}
	return h, s
}

// sumsOf is what a booking makes of an hour's sums.
func sumsOf(before []hourSum, n *rating.Booking) []hourSum {
	out := slices.Clone(before)
	of := func(c money.Currency) *hourSum {
		i := slices.IndexFunc(out, func(s hourSum) bool { return s.currency == c })
		if i < 0 {
			i = len(out)
			out = append(out, hourSum{currency: c})
		}
		return &out[i]
	}
	for i := range out {
		out[i].cost, out[i].pieces = money.Sum{}, 0
	}
	for i := range n.Rated.Costs {
		if c := &n.Rated.Costs[i]; c.Priced {
			s := of(c.Currency)
			s.pieces++
			s.cost.Add(c.Total)
		}
	}
	for i := range n.Lines {
		l := &n.Lines[i]
		if l.Amount == nil {
			continue
		}
		s := of(l.Currency)
		s.lines++
		s.amount.Add(*l.Amount)
		if l.EntryKind == allocation.Shared {
			continue
		}
		s.linesApart++
		s.apart.Add(*l.Amount)
		if l.Moved != nil {
			s.apart.Add(*l.Moved)
		}
	}
	return slices.DeleteFunc(out, func(s hourSum) bool { return s.lines == 0 && s.pieces == 0 })
}

// add writes one booking.
func (b *booked) add(w *speller, n *rating.Booking) error {
	h := n.Rated.NodeHour
	hour := hourOf(h.HourMS)
	pods := make(map[string]*int64, len(n.Pods))
	for uid, id := range b.pods[h] { // whom this rating says nothing of is as before
		if id != 0 {
			pods[uid] = &id
		}
	}
	for uid, p := range n.Pods {
		id, err := w.pod(&p)
		if err != nil {
			return fmt.Errorf("%s: pod %s: %w", h, uid, err)
		}
		pods[uid] = &id
	}
	for i := range n.Lines {
		if err := w.line(&n.Lines[i], pods[n.Lines[i].Holder.PodUID]); err != nil {
			return err
		}
	}
	if err := w.rated(hour, &n.Rated); err != nil {
		return fmt.Errorf("%s: %w", h, err)
	}
	for i := range n.Rated.Costs {
		if err := w.cost(hour, i, &n.Rated.Costs[i]); err != nil {
			return fmt.Errorf("%s: %w", h, err)
		}
	}
	return w.hourSums(hour, h, sumsOf(b.sums[h], n))
}

// pieceWire is a piece with what changes from hour to hour, and the number of what
// does not: the node without its life.
type pieceWire struct {
	FromMS int64        `json:"from_ms"`
	ToMS   int64        `json:"to_ms"`
	Life   pricing.Life `json:"life"`
	Node   int64        `json:"node"`
}

func (s *speller) rated(hour int32, h *rating.Rated) error {
	var pieces []pieceWire
	for i := range h.Nodes {
		p := &h.Nodes[i]
		node := p.Node
		node.Life = pricing.Life{}
		id, err := s.part(&node)
		if err != nil {
			return err
		}
		pieces = append(pieces, pieceWire{p.FromMS, p.ToMS, p.Node.Life, id})
	}
	number, err := s.rating(hour, h.Revision)
	if err != nil {
		return err
	}
	b, err := s.to(ratedTable)
	if err != nil {
		return err
	}
	b.i32(hour)
	b.text(h.Cluster)
	b.text(h.Node)
	b.number(h.Booking)
	b.i64(number)
	b.boolean(h.Complete)
	putWire(b, pieces)
	putWire(b, h.Remarks)
	return b.end()
}

func putWire[T any](b *bulk, list []T) {
	if list == nil {
		b.null()
		return
	}
	b.text(wireList(list).(string))
}

func (s *speller) cost(hour int32, piece int, c *pricing.NodeCost) error {
	basis, err := s.part(&c.Basis)
	if err != nil {
		return err
	}
	var slots, reason *int64
	if c.Slots != nil {
		id, err := s.part(c.Slots)
		if err != nil {
			return err
		}
		slots = &id
	}
	if c.Reason != "" {
		id, err := s.word(c.Reason)
		if err != nil {
			return err
		}
		reason = &id
	}
	b, err := s.to(costTable)
	if err != nil {
		return err
	}
	b.i32(hour)
	b.text(c.Cluster)
	b.text(c.Node)
	b.number(piece)
	b.i64(c.StartMS)
	b.i64(c.DurationMS)
	b.boolean(c.Priced)
	bulkOptional(b, reason)
	b.text(string(c.Currency))
	b.i64(int64(c.Total))
	bulkOptional(b, slots)
	b.i64(int64(c.CPU))
	b.i64(int64(c.Memory))
	b.i64(c.CPUMilli)
	b.u64(c.MemoryBytes)
	b.i64(basis)
	return b.end()
}

func (s *speller) hourSums(hour int32, h ledger.NodeHour, sums []hourSum) error {
	b, err := s.to(hourTable)
	if err != nil {
		return err
	}
	for i := range sums {
		of := &sums[i]
		b.i32(hour)
		b.text(h.Cluster)
		b.text(h.Node)
		b.text(string(of.currency))
		b.wide(of.cost.Halves())
		b.wide(of.amount.Halves())
		b.wide(of.apart.Halves())
		b.i64(of.lines)
		b.i64(of.linesApart)
		b.i64(of.pieces)
		if err := b.end(); err != nil {
			return err
		}
	}
	return nil
}

// updatePods gives the lines that were there before the dimensions that their pods
// have by now.
func (b *booked) updatePods(ctx context.Context, w *speller) error {
	words := newWordReader(w.conn)
	for hour, of := range b.hours {
		var rows []string
		for _, n := range of {
			changed, err := b.changedPods(ctx, w, words, n)
			if err != nil {
				return err
			}
			rows = append(rows, changed...)
		}
		if len(rows) == 0 {
			continue
		}
		slices.Sort(rows)
		err := w.conn.exec(ctx, fmt.Sprintf(`UPDATE ledger_line SET pod = v.p FROM (VALUES %s) AS v(c, n, u, p)
			WHERE hour = %d AND cluster = v.c AND node = v.n AND pod_uid = v.u`, strings.Join(rows, ", "), hour))
		if err != nil {
			return err
		}
	}
	return nil
}

// changedPods are those of a booking whose lines say something else, as rows of SQL.
func (b *booked) changedPods(ctx context.Context, w *speller, words *wordReader, n *rating.Booking) (rows []string, err error) {
	before := b.pods[n.Rated.NodeHour]
	var ids []int64
	for uid := range n.Pods {
		if id := before[uid]; id != 0 {
			ids = append(ids, id)
		}
	}
	if err := words.needPods(ctx, ids); err != nil {
		return nil, err
	}
	for uid, p := range n.Pods {
		was, there := before[uid]
		if !there {
			continue
		}
		if old := words.pods[was]; old != nil && old.Owner == p.Owner && joinedMap(old.Labels) == joinedMap(p.Labels) {
			continue
		}
		id, err := w.pod(&p) // it was written with the booking
		if err != nil {
			return nil, err
		}
		rows = append(rows, fmt.Sprintf("(%s, %s, %s, %d)", literal(n.Rated.Cluster), literal(n.Rated.Node), literal(uid), id))
	}
	return rows, nil
}

// rawRated is a rated hour as its row has it.
type rawRated struct {
	rating.Rated
	number int64
	pieces []pieceWire
}

func readRated(r *row) (h rawRated) {
	hour := r.i32()
	h.NodeHour = ledger.NodeHour{Cluster: r.text(), Node: r.text(), HourMS: int64(hour) * hourMS}
	h.Booking, h.number, h.Complete = int(r.i32()), r.i64(), r.boolean()
	if !r.null() { // they differ from hour to hour: nothing to remember
		if err := json.Unmarshal(r.bytes(), &h.pieces); err != nil {
			r.memo.fail(fmt.Errorf("%s: nodes_json: %w", h.NodeHour, err))
		}
	}
	h.Remarks = readWire[[]allocation.Remark](r)
	return h
}

// fill sets what the row names by number.
func (h *rawRated) fill(w *wordReader) (err error) {
	if h.Revision, err = w.rating(h.number); err != nil {
		return err
	}
	for _, p := range h.pieces {
		node, err := partOf[pricing.Node](w, p.Node)
		if err != nil {
			return err
		}
		node.Life = p.Life
		h.Nodes = append(h.Nodes, rating.Piece{FromMS: p.FromMS, ToMS: p.ToMS, Node: node})
	}
	return nil
}

// rawCost is a cost as its row has it. Numbers are 0 where there is none.
type rawCost struct {
	pricing.NodeCost
	hour                 int32
	piece                int
	reason, slots, basis int64
}

func readCost(r *row) (c rawCost) {
	c.hour, c.Cluster, c.Node, c.piece = r.i32(), r.text(), r.text(), int(r.i32())
	c.StartMS, c.DurationMS, c.Priced = r.i64(), r.i64(), r.boolean()
	if !r.null() {
		c.reason = r.i64()
	}
	c.Currency, c.Total = money.Currency(r.text()), money.Nano(r.i64())
	if !r.null() {
		c.slots = r.i64()
	}
	c.CPU, c.Memory, c.CPUMilli, c.MemoryBytes = money.Nano(r.i64()), money.Nano(r.i64()), r.i64(), r.u64()
	c.basis = r.i64()
	return c
}

func (c *rawCost) fill(w *wordReader) (err error) {
	if c.Basis, err = partOf[pricing.Basis](w, c.basis); err == nil && c.slots != 0 {
		c.Slots, err = partOf[[]pricing.SlotCost](w, c.slots)
	}
	if err == nil && c.reason != 0 {
		c.Reason, err = w.word(c.reason)
	}
	return err
}
