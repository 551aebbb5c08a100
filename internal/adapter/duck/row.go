// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/usage"
)

// record is one row on its way into a table. Values are appended in the order
// of the table's columns.
type record []driver.Value

func optional[T any](v *T) driver.Value {
	if v == nil {
		return nil
	}
	return *v
}

// wire is a nested part of a record as JSON, NULL when it is nil. What is
// marshalled here are lists and maps of plain values, which cannot fail.
func wire[T any](v T, isNil bool) driver.Value {
	if isNil {
		return nil
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic("duck: marshal plain values: " + err.Error())
	}
	return string(data)
}

func wireList[T any](v []T) driver.Value { return wire(v, v == nil) }

func wireMap[K comparable, V any](v map[K]V) driver.Value { return wire(v, v == nil) }

func spanValues(s usage.Span) record { return record{s.StartMS, s.DurationMS} }

func (r *row) span() usage.Span { return usage.Span{StartMS: r.i64(), DurationMS: r.i64()} }

// numbered are words by their number. Numbers of one hour lie close together. They
// come in any order: what is sealed of an hour comes after what is in the tables.
type numbered[T any] struct {
	kind  string
	first int64
	pages []*page[T] // from first on, nil where nothing is
	far   map[int64]T
}

// page is some words with numbers one behind the other. A list of words is not one
// piece of memory: it would be moved again and again as it grows.
type page[T any] struct {
	words [pageWords]T
	here  [pageWords]bool
}

const (
	pageWords = 256
	// farPages is how many pages behind the last a number is no longer near.
	farPages = 16
)

func (n *numbered[T]) put(id int64, v T) {
	if n.pages == nil {
		n.first = id
	}
	at := id - n.first
	if at < 0 || at/pageWords >= int64(len(n.pages)+farPages) {
		if n.far == nil {
			n.far = map[int64]T{}
		}
		n.far[id] = v
		return
	}
	for at/pageWords >= int64(len(n.pages)) {
		n.pages = append(n.pages, nil)
	}
	p := &n.pages[at/pageWords]
	if *p == nil {
		*p = new(page[T])
	}
	(*p).words[at%pageWords], (*p).here[at%pageWords] = v, true
}

// doubled has room for one more. A list that is full becomes twice as long: append
// alone makes long ones longer by a quarter, and moves what is large too often.
func doubled[T any](list []T) []T {
	if len(list) < cap(list) {
		return list
	}
	return slices.Grow(list, max(len(list), 16))
}

// at is what a number names.
func (n *numbered[T]) at(id int64) (v T, ok bool) {
	if at := id - n.first; at >= 0 && at/pageWords < int64(len(n.pages)) {
		if p := n.pages[at/pageWords]; p != nil && p.here[at%pageWords] {
			return p.words[at%pageWords], true
		}
	}
	v, ok = n.far[id]
	return v, ok
}

// get reads a number from the row and returns what it names.
func (n *numbered[T]) get(r *row) T {
	id := r.i64()
	v, ok := n.at(id)
	if !ok {
		r.memo.fail(fmt.Errorf("%s %d is not in the journal", n.kind, id))
	}
	return v
}
