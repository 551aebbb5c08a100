// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// An hour of a large cluster is millions of rows. Through database/sql each
// value becomes an interface on the heap; here DuckDB's own columns are read
// where they lie.

// columnar is a connection whose answers are read by column. It is not safe for
// concurrent use.
type columnar struct {
	conn mapping.Connection
}

// joinDatabase joins the database that is open under path in this process: the
// options must be those it was opened with.
func joinDatabase(path string, options map[string]string) (db mapping.Database, err error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return db, errors.New("open journal for reading: no configuration")
	}
	defer mapping.DestroyConfig(&config)
	for name, value := range options {
		if mapping.SetConfig(config, name, value) == mapping.StateError {
			return db, fmt.Errorf("open journal for reading: option %s=%s is refused", name, value)
		}
	}
	var why string
	if mapping.GetOrCreateFromCache(duckdb.GetInstanceCache(), path, &db, config, &why) == mapping.StateError {
		return db, fmt.Errorf("open journal for reading: %s", why)
	}
	return db, nil
}

func connectColumnar(db mapping.Database) (*columnar, error) {
	var c columnar
	if mapping.Connect(db, &c.conn) == mapping.StateError {
		return nil, errors.New("read journal: no connection")
	}
	return &c, nil
}

func (c *columnar) close() { mapping.Disconnect(&c.conn) }

// chunk is some rows of an answer: a run of values for each column. It is valid
// until the next one is asked for.
type chunk struct {
	size    int
	vectors []vector
}

// vector is one column of a chunk: its values one behind the other, and a bit
// for each that says whether it is there (nil: all are).
type vector struct {
	data  unsafe.Pointer
	valid unsafe.Pointer
	texts []string // instead of data, where texts were unpacked
}

// null reports whether value i is not there.
func (v *vector) null(i int) bool {
	return v.valid != nil && *(*uint64)(unsafe.Add(v.valid, uintptr(i/64)*8))>>(i%64)&1 == 0
}

// missing is how many of n values are not there.
func (v *vector) missing(from, n int) (missing int) {
	if v.valid == nil {
		return 0
	}
	for i := range n {
		if v.null(from + i) {
			missing++
		}
	}
	return missing
}

// inlined is the length up to which DuckDB keeps a text within its 16 bytes:
// length (4), then the text, or its first 4 bytes and a pointer to all of it.
const inlined = 12

// bytes are those of text i, as DuckDB keeps them.
func (v *vector) bytes(i int) []byte {
	p := unsafe.Add(v.data, uintptr(i)*16)
	n := *(*uint32)(p)
	if n <= inlined {
		return unsafe.Slice((*byte)(unsafe.Add(p, 4)), n)
	}
	return unsafe.Slice(*(**byte)(unsafe.Add(p, 8)), n)
}

// each asks and hands the answer to f, chunk by chunk, as DuckDB makes it: the
// memory of one chunk serves the next, which is most of why reading is fast.
// want are the columns expected; an answer of other types is an error, since
// nothing below checks again. An error of f ends the reading and is returned.
func (c *columnar) each(ctx context.Context, query string, want []column, f func(*chunk) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { mapping.Interrupt(c.conn) })
	defer stop()
	result, err := c.start(query)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	defer mapping.DestroyResult(&result)
	if err := check(&result, want); err != nil {
		return err
	}
	ch := chunk{vectors: make([]vector, len(want))}
	for {
		handle := mapping.FetchChunk(result)
		if handle.Ptr == nil {
			return errors.Join(failure(&result), ctx.Err())
		}
		ch.fill(handle)
		more := ch.size > 0
		if more {
			err = f(&ch)
		}
		mapping.DestroyDataChunk(&handle)
		if err != nil || !more {
			return errors.Join(err, ctx.Err())
		}
	}
}

// start begins a query whose answer is handed out while it is made.
func (c *columnar) start(query string) (result mapping.Result, err error) {
	var stmt mapping.PreparedStatement
	defer mapping.DestroyPrepare(&stmt)
	if mapping.Prepare(c.conn, query, &stmt) == mapping.StateError {
		return result, fmt.Errorf("query: %s", mapping.PrepareError(stmt))
	}
	var pending mapping.PendingResult
	defer mapping.DestroyPending(&pending)
	// The driver's own package has no streaming; the one below it does.
	if bindings.PendingPreparedStreaming(stmt, &pending) == mapping.StateError {
		return result, fmt.Errorf("query: %s", mapping.PendingError(pending))
	}
	if mapping.ExecutePending(pending, &result) == mapping.StateError {
		err := fmt.Errorf("query: %s", mapping.ResultError(&result))
		mapping.DestroyResult(&result)
		return result, err
	}
	return result, nil
}

func failure(result *mapping.Result) error {
	if why := mapping.ResultError(result); why != "" {
		return fmt.Errorf("query: %s", why)
	}
	return nil
}

func check(result *mapping.Result, want []column) error {
	if want == nil {
		return nil
	}
	if n := int(mapping.ColumnCount(result)); n != len(want) {
		return fmt.Errorf("the answer has %d columns, %d are expected", n, len(want))
	}
	for i, c := range want {
		if kind := mapping.ColumnType(result, mapping.IdxT(i)); kind != c.kind {
			return fmt.Errorf("column %s has type %d, %d is expected", c.name, kind, c.kind)
		}
	}
	return nil
}

func (ch *chunk) fill(handle mapping.DataChunk) {
	ch.size = int(mapping.DataChunkGetSize(handle))
	for i := range ch.vectors {
		v := mapping.DataChunkGetVector(handle, mapping.IdxT(i))
		ch.vectors[i] = vector{data: mapping.VectorGetData(v), valid: mapping.VectorGetValidity(v)}
	}
}

// rows asks and hands the answer to f row by row.
func (c *columnar) rows(ctx context.Context, query string, want []column, m *memo, f func(*row)) error {
	r := row{memo: m}
	err := c.each(ctx, query, want, func(ch *chunk) error {
		for i := range ch.size {
			r.reset(ch, i)
			f(&r)
		}
		return m.err
	})
	return err
}

// exec runs a statement whose answer does not matter.
func (c *columnar) exec(ctx context.Context, query string) error {
	return c.each(ctx, query, nil, func(*chunk) error { return nil })
}

// texts reads an answer of one text column.
func (c *columnar) texts(ctx context.Context, query string) (out []string, err error) {
	err = c.rows(ctx, query, []column{{"text", text}}, newMemo(), func(r *row) { out = append(out, r.text()) })
	return out, err
}

// row reads one row from left to right.
type row struct {
	vectors []vector
	i       int
	col     int
	memo    *memo
}

// reset moves to a row of a chunk, before its first column.
func (r *row) reset(ch *chunk, i int) { r.vectors, r.i, r.col = ch.vectors, i, 0 }

func (r *row) skip(columns int) { r.col += columns }

func at[T any](r *row) T {
	v := *(*T)(unsafe.Add(r.vectors[r.col].data, uintptr(r.i)*unsafe.Sizeof(*new(T))))
	r.col++
	return v
}

func (r *row) i32() int32    { return at[int32](r) }
func (r *row) i64() int64    { return at[int64](r) }
func (r *row) u32() uint32   { return at[uint32](r) }
func (r *row) u64() uint64   { return at[uint64](r) }
func (r *row) f64() float64  { return at[float64](r) }
func (r *row) boolean() bool { return at[bool](r) }

// null reports whether the next value is not there; if so, it is passed over.
func (r *row) null() bool {
	if !r.vectors[r.col].null(r.i) {
		return false
	}
	r.col++
	return true
}

func (r *row) optI64() *int64   { return optionalAt[int64](r) }
func (r *row) optU64() *uint64  { return optionalAt[uint64](r) }
func (r *row) optF64() *float64 { return optionalAt[float64](r) }

func optionalAt[T any](r *row) *T {
	if r.null() {
		return nil
	}
	v := at[T](r)
	return &v
}

func (r *row) bytes() []byte {
	r.col++
	return r.vectors[r.col-1].bytes(r.i)
}

func (r *row) text() string {
	v := &r.vectors[r.col]
	r.col++
	if v.texts != nil {
		return v.texts[r.i]
	}
	return r.memo.text(v.bytes(r.i))
}

// view is the next text while the chunk is there.
func (r *row) view() string {
	v := &r.vectors[r.col]
	r.col++
	if v.texts != nil {
		return v.texts[r.i]
	}
	b := v.bytes(r.i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// readWire reads a nested part. Equal texts give the same slice or map: what is
// read is not to be changed.
func readWire[T any](r *row) (v T) {
	if r.null() {
		return v
	}
	data := r.view()
	if known, ok := r.memo.parts[data]; ok {
		if v, ok := known.(T); ok {
			return v
		}
	}
	return parseWire[T](r.memo, data)
}

// parseWire reads a nested part for the first time. It is apart from readWire, which
// is called for every row and needs no memory where nothing is new.
func parseWire[T any](m *memo, data string) (v T) {
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		m.fail(fmt.Errorf("read %.100q: %w", data, err))
		return v
	}
	if len(m.parts) < memoSize {
		m.parts[strings.Clone(data)] = v
	}
	return v
}

// memo keeps what was read before, so that equal texts are one, and the first
// error.
type memo struct {
	texts map[string]string
	parts map[string]any
	err   error
}

// memoSize bounds what a memo keeps.
const memoSize = 1 << 18

func newMemo() *memo { return &memo{texts: map[string]string{}, parts: map[string]any{}} }

func (m *memo) text(b []byte) string {
	if s, ok := m.texts[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(m.texts) < memoSize {
		m.texts[s] = s
	}
	return s
}

func (m *memo) fail(err error) {
	if m.err == nil {
		m.err = err
	}
}
