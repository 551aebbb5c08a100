// SPDX-License-Identifier: Apache-2.0

package listprices

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/pricing"
)

// Name is what bills call the list.
const Name = "built-in list"

//go:embed prices.csv
var pricesCSV []byte

//go:embed sources.csv
var sourcesCSV []byte

// Source is where prices were read.
type Source struct {
	Key     string // as rows name it
	What    string
	Address string
	Licence string
}

// Book is the built-in list, without the prices of the future. Its revision is
// the day on which its newest price was seen.
func Book() (*pricing.Book, error) {
	rows, err := Parse(bytes.NewReader(pricesCSV))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	newest := slices.MaxFunc(rows, func(a, b pricing.Row) int { return cmp.Compare(a.Retrieved, b.Retrieved) })
	return &pricing.Book{Name: Name, Revision: date(newest.Retrieved), Grade: pricing.Listed, Rows: rows}, nil
}

// Sources are the sources of the built-in list.
func Sources() ([]Source, error) { return ParseSources(bytes.NewReader(sourcesCSV)) }

// ParseSources reads a file of sources.
func ParseSources(r io.Reader) ([]Source, error) {
	records, err := table(r, []string{"key", "what", "address", "licence"})
	if err != nil {
		return nil, fmt.Errorf("read sources: %w", err)
	}
	var out []Source
	for _, f := range records {
		out = append(out, Source{Key: f[0], What: f[1], Address: f[2], Licence: f[3]})
	}
	return out, nil
}

// table reads a CSV with exactly these columns, in this order.
func table(r io.Reader, columns []string) ([][]string, error) {
	records, err := csv.NewReader(r).ReadAll()
	switch {
	case err != nil:
		return nil, err
	case len(records) < 2 || !slices.Equal(records[0], columns):
		return nil, fmt.Errorf("want the columns %v and at least one line", columns)
	}
	return records[1:], nil
}

// date is a day as the files have it; "" for 0.
func date(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format(time.DateOnly)
}
