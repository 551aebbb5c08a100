// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
	"unsafe"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// bulk appends rows to a table by writing DuckDB's own columns where they lie:
// a row of sixty values costs a fraction of what it does through an interface for
// each. Values are written from left to right, as a row reads them. The first
// value that cannot be held makes everything after it void: see err.
type bulk struct {
	table    table
	appender mapping.Appender
	chunk    mapping.DataChunk
	columns  []bulkColumn
	size, at int // rows in the chunk, column of the next value
	rows     int64
	err      error
}

// bulkColumn is one column of the chunk that is being filled.
type bulkColumn struct {
	vector mapping.Vector
	data   unsafe.Pointer
	valid  unsafe.Pointer
	// last is the text written before: lines that follow one another have much in
	// common, and DuckDB can point to a text twice.
	last   string
	lastAt int
}

// vectorSize is how many rows a chunk has.
const vectorSize = 2048

// newBulk begins to append to a table, within the transaction of the connection.
func newBulk(conn *columnar, t table) (*bulk, error) {
	b := &bulk{table: t, columns: make([]bulkColumn, len(t.columns))}
	if mapping.AppenderCreate(conn.conn, "", t.name, &b.appender) == mapping.StateError {
		err := fmt.Errorf("append to %s: %s", t.name, mapping.AppenderError(b.appender))
		mapping.AppenderDestroy(&b.appender)
		return nil, err
	}
	kinds := make([]mapping.LogicalType, len(t.columns))
	for i, c := range t.columns {
		kinds[i] = mapping.CreateLogicalType(c.kind)
	}
	b.chunk = mapping.CreateDataChunk(kinds)
	for i := range kinds {
		mapping.DestroyLogicalType(&kinds[i])
	}
	b.begin()
	return b, nil
}

// begin starts an empty chunk.
func (b *bulk) begin() {
	mapping.DataChunkReset(b.chunk)
	b.size, b.at = 0, 0
	for i := range b.columns {
		v := mapping.DataChunkGetVector(b.chunk, mapping.IdxT(i))
		mapping.VectorEnsureValidityWritable(v)
		b.columns[i] = bulkColumn{vector: v, data: mapping.VectorGetData(v), valid: mapping.VectorGetValidity(v), lastAt: -1}
	}
}

// end ends a row.
func (b *bulk) end() error {
	if b.err == nil && b.at != len(b.columns) {
		b.err = fmt.Errorf("a row has %d values, the table %d columns", b.at, len(b.columns))
	}
	if b.err != nil {
		return fmt.Errorf("append to %s: %w", b.table.name, b.err)
	}
	b.at = 0
	b.rows++
	if b.size++; b.size == vectorSize {
		return b.flush()
	}
	return nil
}

func (b *bulk) flush() error {
	if b.size == 0 {
		return nil
	}
	mapping.DataChunkSetSize(b.chunk, mapping.IdxT(b.size))
	if mapping.AppendDataChunk(b.appender, b.chunk) == mapping.StateError {
		return b.failure()
	}
	b.begin()
	return nil
}

func (b *bulk) failure() error {
	return fmt.Errorf("append to %s: %s", b.table.name, mapping.AppenderError(b.appender))
}

// finish hands all rows to the transaction, unless there was an error before.
func (b *bulk) finish(before error) error {
	err := before
	if err == nil {
		err = b.flush()
	}
	if err == nil && mapping.AppenderFlush(b.appender) == mapping.StateError {
		err = b.failure()
	}
	if err != nil {
		mapping.AppenderClear(b.appender)
	}
	mapping.DestroyDataChunk(&b.chunk)
	mapping.AppenderDestroy(&b.appender)
	return err
}

func put[T any](b *bulk, v T) {
	*(*T)(unsafe.Add(b.columns[b.at].data, uintptr(b.size)*unsafe.Sizeof(v))) = v
	b.at++
}

func (b *bulk) i32(v int32)    { put(b, v) }
func (b *bulk) i64(v int64)    { put(b, v) }
func (b *bulk) u32(v uint32)   { put(b, v) }
func (b *bulk) u64(v uint64)   { put(b, v) }
func (b *bulk) boolean(v bool) { put(b, v) }

// number is an int in a column of 32 bits.
func (b *bulk) number(v int) {
	if v < math.MinInt32 || v > math.MaxInt32 {
		b.fail(fmt.Errorf("%s %d does not fit 32 bits", b.table.columns[b.at].name, v))
	}
	put(b, int32(v))
}

// wide is 128 bits of two's complement.
func (b *bulk) wide(high int64, low uint64) { put(b, halves{low, high}) }

// halves are 128 bits as DuckDB keeps them.
type halves struct {
	low  uint64
	high int64
}

func (b *bulk) null() {
	word := (*uint64)(unsafe.Add(b.columns[b.at].valid, uintptr(b.size/64)*8))
	*word &^= 1 << (b.size % 64)
	b.at++
}

func bulkOptional[T any](b *bulk, v *T) {
	if v == nil {
		b.null()
		return
	}
	put(b, *v)
}

// id is 128 bits written as 32 hexadecimal digits, as the ids of lines are.
func (b *bulk) id(text string) {
	h, err := parseID(text)
	if err != nil {
		b.fail(fmt.Errorf("%s: %w", b.table.columns[b.at].name, err))
	}
	h.high ^= math.MinInt64 // DuckDB keeps a UUID so that it compares as a number does
	put(b, h)
}

// parseID reads 32 lower-case hexadecimal digits.
func parseID(text string) (h halves, err error) {
	high, ok := parseHex(text[:len(text)/2])
	low, ok2 := parseHex(text[len(text)/2:])
	if len(text) != 32 || !ok || !ok2 {
		return h, fmt.Errorf("%q is no id of 32 hexadecimal digits", text)
	}
	return halves{low: low, high: int64(high)}, nil
}

// parseHex reads up to 16 lower-case hexadecimal digits.
func parseHex(text string) (n uint64, ok bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func (b *bulk) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// stringSize is the size of a text in a vector: see inlined.
const stringSize = 16

func (b *bulk) text(s string) {
	c := &b.columns[b.at]
	at := unsafe.Add(c.data, uintptr(b.size)*stringSize)
	switch {
	case c.lastAt >= 0 && s == c.last:
		*(*[2]uint64)(at) = *(*[2]uint64)(unsafe.Add(c.data, uintptr(c.lastAt)*stringSize))
	case !utf8.ValidString(s):
		b.fail(fmt.Errorf("%s is %q, which is no UTF-8", b.table.columns[b.at].name, s))
	case len(s) <= inlined:
		*(*[2]uint64)(at) = [2]uint64{}
		*(*uint32)(at) = uint32(len(s))
		copy(unsafe.Slice((*byte)(unsafe.Add(at, 4)), inlined), s)
	default:
		mapping.VectorAssignStringElement(c.vector, mapping.IdxT(b.size), s)
	}
	c.last, c.lastAt = s, b.size
	b.at++
}

// optText is a text, or NULL where it is not there.
func (b *bulk) optText(s string, there bool) {
	if !there {
		b.null()
		return
	}
	b.text(s)
}

// bulks are appenders to several tables in one transaction.
type bulks struct {
	conn *columnar
	of   map[string]*bulk
}

func (b *bulks) to(t table) (*bulk, error) {
	if have := b.of[t.name]; have != nil {
		return have, nil
	}
	into, err := newBulk(b.conn, t)
	if err != nil {
		return nil, err
	}
	if b.of == nil {
		b.of = map[string]*bulk{}
	}
	b.of[t.name] = into
	return into, nil
}

// finish hands all rows to the transaction, unless there was an error before.
func (b *bulks) finish(before error) error {
	errs := []error{before}
	for _, into := range b.of {
		if err := into.finish(before); err != before {
			errs = append(errs, err)
		}
	}
	b.of = nil
	return errors.Join(errs...)
}
