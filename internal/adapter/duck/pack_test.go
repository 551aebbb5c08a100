// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/usage"
)

// everyKind is a table with a column of each type that may be null, behind the
// columns that say of which batch a row is.
var everyKind = table{name: "every", columns: columnsOf(
	"hour", integer, "batch", bigint, "line", uinteger, "a", integer, "b", bigint, "c", ubigint, "d", double, "e", boolean, "f", text, "g", text,
)}

// TestPackedRowsAreTheSame: what DuckDB hands out, packed run by run, is what comes
// out again, whatever is null and however wide the values are.
func TestPackedRowsAreTheSame(t *testing.T) {
	s, _ := opened(t, t.TempDir())
	conn, err := connectColumnar(s.columns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.close)
	kinds = append(kinds, &kind{table: everyKind})
	t.Cleanup(func() { kinds = kinds[:len(kinds)-1] })
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.Custom(anyRow), 1, 70).Draw(t, "rows")
		run := rapid.IntRange(1, len(rows)).Draw(t, "rows of a run")
		query := "SELECT * FROM (VALUES " + strings.Join(rows, ", ") + ") t(hour, batch, line, a, b, c, d, e, f, g)"
		var want []string
		p := newPacker(1)
		if err := conn.each(context.Background(), query, everyKind.columns, func(ch *chunk) error {
			want = append(want, readAll(ch)...)
			for from := 0; from < ch.size; from += run {
				p.pack(0, uint8(len(kinds)-1), ch, from, min(from+run, ch.size))
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		var u unpacker
		var got []string
		for at := p.first[0]; at >= 0; at = p.runs[at].next {
			got = append(got, readAll(u.unpack(p, &p.runs[at]))...)
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(want) != len(rows) {
			t.Fatalf("packed\n%s\nunpacked\n%s", strings.Join(want, "\n"), strings.Join(got, "\n"))
		}
	})
}

// anyRow is a row of everyKind in SQL.
func anyRow(t *rapid.T) string {
	orNull := func(kind, value string) string {
		if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
			value = "NULL"
		}
		return value + "::" + kind
	}
	wide := rapid.OneOf(rapid.Just[int64](0), rapid.Int64Range(-3, 300), rapid.Int64())
	words := rapid.OneOf(rapid.Just(""), rapid.SampledFrom([]string{"exact", "a text that is longer than twelve bytes"}), rapid.StringN(0, 40, 60))
	return "(" + strings.Join([]string{
		"1::INTEGER", "2::BIGINT", fmt.Sprint(rapid.Uint32().Draw(t, "line")) + "::UINTEGER",
		orNull("INTEGER", fmt.Sprintf("'%d'", rapid.Int32().Draw(t, "a"))),
		orNull("BIGINT", fmt.Sprintf("'%d'", wide.Draw(t, "b"))),
		orNull("UBIGINT", fmt.Sprint(rapid.Uint64().Draw(t, "c"))),
		orNull("DOUBLE", fmt.Sprintf("'%v'", rapid.Float64().Draw(t, "d"))),
		orNull("BOOLEAN", fmt.Sprint(rapid.Bool().Draw(t, "e"))),
		orNull("VARCHAR", literal(words.Draw(t, "f"))), orNull("VARCHAR", literal(words.Draw(t, "g"))),
	}, ", ") + ")"
}

// readAll reads the packed columns of a chunk.
func readAll(ch *chunk) (out []string) {
	r := row{memo: newMemo()}
	for i := range ch.size {
		r.reset(ch, i)
		r.skip(lineColumn)
		fields := []string{fmt.Sprint(r.u32())}
		for _, read := range []func() any{
			func() any { return r.i32() }, func() any { return r.i64() }, func() any { return r.u64() },
			func() any { return r.f64() }, func() any { return r.boolean() }, func() any { return r.text() }, func() any { return r.view() },
		} {
			if r.null() {
				fields = append(fields, "null")
			} else {
				fields = append(fields, fmt.Sprintf("%q", fmt.Sprint(read())))
			}
		}
		out = append(out, strings.Join(fields, " "))
	}
	return out
}

// TestSpareMemoryIsClean: a batch that is made in the memory of another has nothing
// of it, also where a line is missing.
func TestSpareMemoryIsClean(t *testing.T) {
	lines := []uint32{3, 0}
	ch := chunk{size: len(lines), vectors: make([]vector, lineColumn)}
	u := unpacker{values: make([]uint64, len(lines))}
	u.columns = make([]room, 1)
	u.columns[0].fit(len(lines))
	u.columns[0].put(column{"line", uinteger}, []uint64{uint64(lines[0]), uint64(lines[1])}, nil)
	ch.vectors = append(ch.vectors, vector{data: u.columns[0].pointer()})
	used := make([]usage.Record, 8)
	for i := range used {
		used[i].ByteMS = 7
	}
	r := row{memo: newMemo()}
	got := putRows(&r, &ch, used[:0], nil, func(*row, *words) usage.Record { return usage.Record{ByteMS: 1} })
	if len(got) != 4 || got[0].ByteMS != 1 || got[1].ByteMS != 0 || got[2].ByteMS != 0 || got[3].ByteMS != 1 {
		t.Errorf("lines 3 and 0 make %+v", got)
	}
}
