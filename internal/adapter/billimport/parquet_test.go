// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"bytes"
	"encoding/csv"
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/gputally/gputally/internal/core/bill"
)

// kinds are the ways in which exporters are seen to store amounts and times.
type kinds struct {
	amount, time parquet.Node
	toAmount     func(string) parquet.Value
	toTime       func(time.Time) parquet.Value
}

func fixedDecimal(text string) parquet.Value {
	n, _ := new(big.Int).SetString(strings.Replace(padded(text, 10), ".", "", 1), 10)
	if n.Sign() < 0 {
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return parquet.FixedLenByteArrayValue(n.FillBytes(make([]byte, 16)))
}

// padded is the decimal with so many places.
func padded(text string, places int) string {
	whole, part, _ := strings.Cut(text, ".")
	part = strings.TrimRight(part, "0")
	return whole + "." + part + strings.Repeat("0", places-len(part))
}

func wholeDecimal(text string) parquet.Value {
	n, _ := strconv.ParseInt(strings.Replace(padded(text, 10), ".", "", 1), 10, 64)
	return parquet.Int64Value(n)
}

func double(text string) parquet.Value {
	f, _ := strconv.ParseFloat(text, 64)
	return parquet.DoubleValue(f)
}

func int96(t time.Time) parquet.Value {
	day := t.Unix() / 86400
	nanos := uint64(t.Unix()%86400) * 1e9
	return parquet.Int96Value(deprecated.Int96{uint32(nanos), uint32(nanos >> 32), uint32(day + 2_440_588)})
}

var storedAs = map[string]kinds{
	"text": {parquet.String(), parquet.String(), func(s string) parquet.Value { return parquet.ByteArrayValue([]byte(s)) },
		func(t time.Time) parquet.Value { return parquet.ByteArrayValue([]byte(t.Format(time.RFC3339))) }},
	"decimal of 16 bytes, microseconds": {parquet.Decimal(10, 38, parquet.FixedLenByteArrayType(16)), parquet.Timestamp(parquet.Microsecond), fixedDecimal,
		func(t time.Time) parquet.Value { return parquet.Int64Value(t.UnixMicro()) }},
	"decimal of 64 bits, milliseconds": {parquet.Decimal(10, 18, parquet.Int64Type), parquet.Timestamp(parquet.Millisecond), wholeDecimal,
		func(t time.Time) parquet.Value { return parquet.Int64Value(t.UnixMilli()) }},
	"floating point, nanoseconds": {parquet.Leaf(parquet.DoubleType), parquet.Timestamp(parquet.Nanosecond), double,
		func(t time.Time) parquet.Value { return parquet.Int64Value(t.UnixNano()) }},
	"floating point, 96 bits": {parquet.Leaf(parquet.DoubleType), parquet.Leaf(parquet.Int96Type), double, int96},
}

// inParquet writes the CSV sample as Parquet in one way of storing.
func inParquet(t testing.TB, name string, k kinds) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	group := parquet.Group{"Tags": parquet.Map(parquet.String(), parquet.String())}
	for _, c := range rows[0] {
		group[c] = parquet.Optional(kindOf(c, k))
	}
	schema := parquet.NewSchema("bill", group)
	var out bytes.Buffer
	w := parquet.NewWriter(&out, schema, parquet.MaxRowsPerRowGroup(2))
	for _, cells := range rows[1:] {
		if _, err := w.WriteRows([]parquet.Row{row(t, schema, rows[0], cells, k)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func isAmount(column string) bool {
	return strings.HasSuffix(column, "Cost") || strings.HasSuffix(column, "_cost") || strings.Contains(column, "commitment") || strings.HasPrefix(column, "reservation_unused")
}

func isTime(column string) bool {
	return strings.HasSuffix(column, "Start") || strings.HasSuffix(column, "End") || strings.HasSuffix(column, "_date")
}

func kindOf(column string, k kinds) parquet.Node {
	switch {
	case isAmount(column):
		return k.amount
	case isTime(column):
		return k.time
	}
	return parquet.String()
}

func row(t testing.TB, schema *parquet.Schema, header, cells []string, k kinds) parquet.Row {
	t.Helper()
	byName := map[string]string{}
	for i, c := range header {
		byName[c] = cells[i]
	}
	var out parquet.Row
	for i, path := range schema.Columns() {
		text := unnull(byName[path[0]])
		switch {
		case path[0] == "Tags":
			v := parquet.ByteArrayValue([]byte("team"))
			out = append(out, v.Level(0, 1, i))
		case text == "":
			out = append(out, parquet.NullValue().Level(0, 0, i))
		case isAmount(path[0]):
			out = append(out, k.toAmount(text).Level(0, 1, i))
		case isTime(path[0]):
			ms, err := instantOf(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, k.toTime(time.UnixMilli(ms).UTC()).Level(0, 1, i))
		default:
			out = append(out, parquet.ByteArrayValue([]byte(text)).Level(0, 1, i))
		}
	}
	return out
}

// However Parquet stores them, the lines are those of the CSV file.
func TestParquetSaysWhatCSVSays(t *testing.T) {
	for _, name := range []string{"focus-1.0-dirty.csv", "focus-1.3.csv", "cur2.csv"} {
		wantLines, wantSummary := read(t, sample(t, name))
		for how, k := range storedAs {
			b := inParquet(t, name, k)
			lines, s := read(t, Input{Name: name, Data: bytes.NewReader(b), Size: int64(len(b))})
			if diff := cmp.Diff(wantLines, lines); diff != "" {
				t.Errorf("%s as %s (-CSV +Parquet):\n%s", name, how, diff)
			}
			if diff := cmp.Diff(wantSummary, s, cmpopts.IgnoreFields(Summary{}, "Hash", "Files"), cmpopts.IgnoreUnexported(Summary{}), cmp.Comparer(func(a, b Sums) bool { return a == b })); diff != "" {
				t.Errorf("%s as %s, summary:\n%s", name, how, diff)
			}
		}
	}
}

// A broken file is an error, wherever it is broken, and never a short bill.
func TestBrokenParquet(t *testing.T) {
	b := inParquet(t, "focus-1.3.csv", storedAs["floating point, nanoseconds"])
	for cut := 4; cut < len(b); cut += 37 {
		_, err := Read(Options{Source: "s"}, []Input{{Name: "f", Data: bytes.NewReader(b[:cut]), Size: int64(cut)}}, func(bill.Line) error { return nil })
		if err == nil {
			t.Errorf("cut at %d of %d bytes, it is read", cut, len(b))
		}
	}
}

// A file that DuckDB wrote (COPY … TO … (FORMAT parquet, COMPRESSION zstd)):
// decimals of 64 bits, times with and without a zone, a map, a date.
func TestParquetOfAnotherWriter(t *testing.T) {
	lines, s := read(t, sample(t, "focus-duckdb.parquet"))
	equal(t, brief(lines),
		"1 01T10+1h0m0s Usage 21.957642 list - machine i-0a000000000000001",
		"2 01T10+1h0m0s Credit -2.50 list -",
	)
	if lines[0].Period != september || lines[0].Billed.String() != "0.10" || lines[1].Billed != nil || s.Rows != 2 {
		t.Errorf("%+v\n%s", lines, s)
	}
}
