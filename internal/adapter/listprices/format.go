// SPDX-License-Identifier: Apache-2.0

package listprices

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// columns of prices.csv. Empty fields are not known, or any.
var columns = []string{"provider", "region", "instance_type", "model", "capacity", "currency", "node_hour", "gpu_hour",
	"from", "to", "first_seen", "last_seen", "source", "gpus", "gpu_model", "gpu_memory_gib", "vcpu", "memory_gib"}

// Parse reads rows of the list. The first mistake is the error, with its line.
func Parse(r io.Reader) ([]pricing.Row, error) {
	records, err := table(r, columns)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	rows := make([]pricing.Row, 0, len(records))
	for i, record := range records {
		row, err := parseRow(record)
		if err != nil {
			return nil, fmt.Errorf("read prices: line %d: %w", i+2, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// fields takes a record apart and keeps the first mistake.
type fields struct {
	record []string
	err    error
}

func (f *fields) text() string {
	s := f.record[0]
	f.record = f.record[1:]
	return s
}

func field[T any](f *fields, parse func(string) (T, error)) (out T) {
	s := f.text()
	if s == "" {
		return out
	}
	v, err := parse(s)
	if err != nil && f.err == nil {
		f.err = fmt.Errorf("%s: %q: %w", columns[len(columns)-len(f.record)-1], s, err)
	}
	return v
}

func amount(s string) (*money.Nano, error) { n, err := money.Parse(s); return &n, err }

func moment(s string) (int64, error) {
	t, err := time.Parse(time.DateOnly, s)
	return t.UnixMilli(), err
}

func whole(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }

func bytesOf(s string) (uint64, error) {
	gib, ok := new(big.Rat).SetString(s)
	if !ok || gib.Sign() < 0 || !gib.Mul(gib, big.NewRat(1<<30, 1)).IsInt() || !gib.Num().IsUint64() {
		return 0, fmt.Errorf("no size in GiB")
	}
	return gib.Num().Uint64(), nil
}

func parseRow(record []string) (pricing.Row, error) {
	f := &fields{record: record}
	r := pricing.Row{Selector: pricing.Selector{Provider: f.text(), Region: f.text(), InstanceType: f.text(), Model: f.text(), Capacity: pricing.Capacity(f.text())}}
	r.Currency = money.Currency(f.text())
	r.Price = pricing.Price{Node: field(f, amount), GPU: field(f, amount)}
	r.Price.HostIncluded = r.Price.GPU != nil && r.Price.Node == nil
	r.From, r.To, r.FirstSeen, r.Retrieved = field(f, moment), field(f, moment), field(f, moment), field(f, moment)
	r.Source = f.text()
	r.Shape = pricing.Shape{GPUs: int(field(f, whole)), Model: f.text(), GPUMemoryGiB: field(f, whole), CPUMilli: 1000 * field(f, whole), MemoryBytes: field(f, bytesOf)}
	r.ID = ID(&r)
	if f.err != nil {
		return r, f.err
	}
	return r, r.Check()
}

// ID names a row: what it is a price of, and since when.
func ID(r *pricing.Row) string {
	parts := []string{r.Provider}
	for _, s := range []string{r.Region, r.InstanceType, r.Model, date(r.From)} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "/")
}

// Write writes rows as Parse reads them.
func Write(w io.Writer, rows []pricing.Row) error {
	out := csv.NewWriter(w)
	if err := out.Write(columns); err != nil {
		return err
	}
	for i := range rows {
		if err := out.Write(record(&rows[i])); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func record(r *pricing.Row) []string {
	s := r.Shape
	return []string{r.Provider, r.Region, r.InstanceType, r.Model, string(r.Capacity), string(r.Currency), decimal(r.Price.Node), decimal(r.Price.GPU),
		date(r.From), date(r.To), date(r.FirstSeen), date(r.Retrieved), r.Source,
		number(int64(s.GPUs)), s.Model, number(s.GPUMemoryGiB), number(s.CPUMilli / 1000), gibibytes(s.MemoryBytes)}
}

func decimal(n *money.Nano) string {
	if n == nil {
		return ""
	}
	return n.String()
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func gibibytes(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	gib := new(big.Rat).SetFrac(new(big.Int).SetUint64(bytes), big.NewInt(1<<30))
	if gib.IsInt() {
		return gib.Num().String()
	}
	return strings.TrimRight(gib.FloatString(6), "0")
}
