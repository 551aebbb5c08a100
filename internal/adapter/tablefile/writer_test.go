// SPDX-License-Identifier: Apache-2.0

package tablefile

import (
	"bytes"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/gputally/gputally/internal/core/money"
)

type row struct {
	name   string
	amount *money.Nano
	n      int64
	wide   string
	ms     int64
	real   *float64
	nested string
}

var columns = []Column[*row]{
	Text("name", func(r *row) string { return r.name }),
	Amount("amount", func(r *row) *money.Nano { return r.amount }),
	Int("n", func(r *row) int64 { return r.n }),
	Wide("wide", func(r *row) string { return r.wide }),
	Time("at", func(r *row) int64 { return r.ms }),
	Real("real", func(r *row) *float64 { return r.real }),
	JSON("nested", func(r *row) string { return r.nested }),
}

func ptr[T any](v T) *T { return &v }

var rows = []*row{
	{"a,\"b\"\n", ptr(money.Nano(-1)), -5, "-170141183460469231731687303715884105727", 1_764_547_200_123, ptr(0.1), `{"team":"x"}`},
	{"", nil, 0, "", 0, nil, ""},
	{"größe", ptr(money.Nano(9_000_000_000_000_000_001)), 1 << 62, "85070591730234615865843651857942052864", 1_764_547_200_000, nil, ""},
}

func write(t *testing.T, w *Writer[*row], err error) {
	t.Helper()
	for _, r := range rows {
		if err == nil {
			err = w.Write(r)
		}
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil || w.Rows != int64(len(rows)) {
		t.Fatalf("%d rows, %v", w.Rows, err)
	}
}

func TestText(t *testing.T) {
	var csv, lines bytes.Buffer
	w, err := NewCSV(&csv, "test", columns)
	write(t, w, err)
	want := "name,amount,n,wide,at,real,nested\n" +
		"\"a,\"\"b\"\"\n\",-0.000000001,-5,-170141183460469231731687303715884105727,2025-12-01T00:00:00.123Z,0.1,\"{\"\"team\"\":\"\"x\"\"}\"\n" +
		",,0,,,,\n" +
		"größe,9000000000.000000001,4611686018427387904,85070591730234615865843651857942052864,2025-12-01T00:00:00Z,,\n"
	if got := csv.String(); got != want {
		t.Errorf("CSV:\n%s\nwant:\n%s", got, want)
	}
	write(t, NewJSON(&lines, "test", columns), nil)
	want = `{"name":"a,\"b\"\n","amount":"-0.000000001","n":-5,"wide":"-170141183460469231731687303715884105727","at":"2025-12-01T00:00:00.123Z","real":0.1,"nested":{"team":"x"}}
{"n":0}
{"name":"größe","amount":"9000000000.000000001","n":4611686018427387904,"wide":"85070591730234615865843651857942052864","at":"2025-12-01T00:00:00Z"}
`
	if got := lines.String(); got != want {
		t.Errorf("JSON lines:\n%s\nwant:\n%s", got, want)
	}
}

// TestParquet reads the file back with another reader than wrote it would need:
// by the schema that stands in it.
func TestParquet(t *testing.T) {
	var file bytes.Buffer
	write(t, NewParquet(&file, "test", columns), nil)
	f, err := parquet.OpenFile(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range f.RowGroups() {
		r := g.Rows()
		defer r.Close()
		buf := make([]parquet.Row, 10)
		n, _ := r.ReadRows(buf)
		for _, cells := range buf[:n] {
			got = append(got, texts(f, cells))
		}
	}
	want := []string{
		"amount=-1 at=1764547200123 n=-5 name=a,\"b\"\n nested={\"team\":\"x\"} real=0.1 wide=-170141183460469231731687303715884105727",
		"n=0",
		"amount=9000000000000000001 at=1764547200000 n=4611686018427387904 name=größe wide=85070591730234615865843651857942052864",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("read %q\nwant %q", got, want)
	}
}

func texts(f *parquet.File, cells parquet.Row) string {
	var out []string
	for i, path := range f.Schema().Columns() {
		v := cells[i]
		switch {
		case v.IsNull():
			continue
		case v.Kind() == parquet.FixedLenByteArray:
			n := new(big.Int).SetBytes(v.ByteArray())
			if n.Bit(127) == 1 {
				n.Sub(n, new(big.Int).Lsh(big.NewInt(1), 128))
			}
			out = append(out, path[0]+"="+n.String())
		default:
			out = append(out, path[0]+"="+v.String())
		}
	}
	return strings.Join(out, " ")
}

func TestWhatIsNoNumber(t *testing.T) {
	for _, wide := range []string{"1e3", "170141183460469231731687303715884105728"} {
		if err := NewParquet(&bytes.Buffer{}, "test", columns).Write(&row{wide: wide}); err == nil || !strings.Contains(err.Error(), "column wide") {
			t.Errorf("%s: %v", wide, err)
		}
	}
}
