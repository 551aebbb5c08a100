// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// writer puts batches into the tables within one transaction of a connection.
type writer struct {
	into  map[string]*duckdb.Appender
	words *vocabulary
	next  counter
	err   error
}

// counter is the next number of a batch and of a word.
type counter struct{ batch, id int64 }

func newWriter(conn driver.Conn, words *vocabulary, next counter) (*writer, error) {
	w := &writer{into: map[string]*duckdb.Appender{}, words: words, next: next}
	for _, t := range slices.Concat(everyTables, shapeTables) {
		a, err := duckdb.NewAppenderFromConn(conn, "", t.name)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("append to %s: %w", t.name, err), w.abandon())
		}
		w.into[t.name] = a
	}
	return w, nil
}

// abandon drops what was not flushed.
func (w *writer) abandon() error {
	var errs []error
	for _, a := range w.into {
		errs = append(errs, a.Clear(), a.Close())
	}
	return errors.Join(errs...)
}

// finish hands all rows to the transaction.
func (w *writer) finish() error {
	var errs []error
	for name, a := range w.into {
		if err := a.Close(); err != nil {
			errs = append(errs, fmt.Errorf("append to %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (w *writer) row(t table, r record) {
	if w.err != nil {
		return
	}
	if err := w.into[t.name].AppendRow(r...); err != nil {
		w.err = fmt.Errorf("append to %s: %w", t.name, err)
	}
}

// batch writes one batch. Its error is about this batch alone.
func (w *writer) batch(b *usage.Batch) error {
	at := home{hour: hourOf(b.StartMS), batch: w.next.batch}
	w.next.batch++
	w.row(batchTable, batchRow(at, b))
	if b.Gap != nil {
		w.row(gapTable, gapRow(at, b))
	}
	if b.Shape != nil {
		w.row(shapeTable, shapeRow(b, w.shape(b.Shape)))
	}
	for i := range b.Partitions {
		p := &b.Partitions[i]
		w.row(partitionTable, partitionRow(at, uint32(i), w.look(at.hour, p), p))
	}
	for i := range b.Holders {
		h := &b.Holders[i]
		w.row(holderTable, holderRow(at, uint32(i), w.place(at.hour, h.Partition), w.owner(at.hour, h.Holder), h))
	}
	for i := range b.Grants {
		g := &b.Grants[i]
		w.row(grantTable, grantRow(at, uint32(i), w.place(at.hour, g.Partition), w.entitlement(at.hour, &g.Grant), g))
	}
	for i := range b.Pods {
		p := &b.Pods[i]
		w.row(podTable, podRow(at, uint32(i), w.owner(at.hour, p.Holder), w.facts(at.hour, p), p))
	}
	for i := range b.Findings {
		w.row(findingTable, findingRow(at, uint32(i), w.owner(at.hour, b.Findings[i].Holder), &b.Findings[i]))
	}
	err := w.err
	w.err = nil
	return err
}

// number gives words a number, writing them the first time.
func number[K comparable](w *writer, known map[K]int64, key K, t table, row func(id int64) record) int64 {
	if id, ok := known[key]; ok {
		return id
	}
	id := w.next.id
	w.next.id++
	w.row(t, row(id))
	known[key] = id
	return id
}

func (w *writer) look(hour int32, p *usage.PartitionRecord) int64 {
	words := w.words.hour(hour)
	id := number(w, words.looks, lookOf(p), placeTable, func(id int64) record { return placeRow(hour, id, p) })
	words.places[p.Partition] = id
	return id
}

// place is the number of a partition. One that no record of the hour described
// has no more than its identity.
func (w *writer) place(hour int32, id gpu.PartitionID) int64 {
	return number(w, w.words.hour(hour).places, id, placeTable, func(n int64) record {
		return placeRow(hour, n, &usage.PartitionRecord{Partition: id})
	})
}

func (w *writer) owner(hour int32, h workload.Holder) int64 {
	return number(w, w.words.hour(hour).owners, h, ownerTable, func(id int64) record { return ownerRow(hour, id, h) })
}

func (w *writer) entitlement(hour int32, g *attribution.Grant) int64 {
	owner := w.owner(hour, g.Holder)
	return number(w, w.words.hour(hour).entitlements, entitlementOf(g), entitlementTable, func(id int64) record {
		return entitlementRow(hour, id, owner, g)
	})
}

func (w *writer) facts(hour int32, p *usage.PodRecord) int64 {
	return number(w, w.words.hour(hour).facts, factsOf(p), factsTable, func(id int64) record { return factsRow(hour, id, p) })
}

func (w *writer) shape(s *usage.NodeShape) int64 {
	text := shapeText(s)
	return number(w, w.words.shapeNumbers(), text, shapeTextTable, func(id int64) record { return record{id, text} })
}
