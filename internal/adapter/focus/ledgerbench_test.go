// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"fmt"
	"io"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
)

// BenchmarkExport writes an hour of 100 nodes of 8 GPUs with 3 holders each.
func BenchmarkExport(b *testing.B) {
	var j journal
	for n := range 100 {
		h := hourAt("2026-11-03T10")
		h.Node = fmt.Sprintf("n%03d", n)
		var entries []allocation.Entry
		for g := range 24 {
			e := entry(h, fmt.Sprintf("direct:p%d", g), "gpu", 1_200_000, ref("0.25"))
			entries = append(entries, e)
		}
		lines, err := ledger.Book(nil, ledger.Rating{NodeHour: h, Entries: entries}, ledger.Periods{})
		if err != nil {
			b.Fatal(err)
		}
		j.add(lines)
	}
	for _, f := range []struct {
		name string
		open func() (*Writer, error)
	}{{"csv", func() (*Writer, error) { return NewCSV(io.Discard) }}, {"parquet", func() (*Writer, error) { return NewParquet(io.Discard), nil }}} {
		b.Run(f.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w, err := f.open()
				if err != nil {
					b.Fatal(err)
				}
				if _, err := Export(w, j.books(0)); err != nil {
					b.Fatal(err)
				}
				if err := w.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(j.lines))*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
