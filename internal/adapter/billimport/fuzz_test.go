// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/money"
)

// check reads arbitrary bytes: no panic, and where there is no error the lines
// are such as the core takes, and the summary is their sum.
func check(t *testing.T, data []byte) {
	var h bill.Hours
	sums := map[money.Currency]*money.Sum{}
	lines := int64(0)
	s, err := Read(Options{Source: "s"}, []Input{{Name: "f", Data: bytes.NewReader(data), Size: int64(len(data))}}, func(l bill.Line) error {
		lines++
		if l.EndMS-l.StartMS > 40*24*3_600_000 {
			l.EndMS = l.StartMS // keeps the fuzzer fast
		}
		if err := h.Add(&l); err != nil {
			t.Fatalf("the core refuses a line: %v", err)
		}
		if l.SplitOf != "" {
			return nil
		}
		if sums[l.Currency] == nil {
			sums[l.Currency] = &money.Sum{}
		}
		sums[l.Currency].Add(l.Effective)
		return nil
	})
	if err != nil {
		if strings.TrimSpace(err.Error()) == "" {
			t.Fatal("an error without words")
		}
		return
	}
	if s.Lines != lines {
		t.Fatalf("the summary counts %d lines of %d", s.Lines, lines)
	}
	for _, total := range s.Totals() {
		if total.Effective.Big().Cmp(sums[total.Currency].Big()) != 0 {
			t.Fatalf("%s: the summary sums to %s, the lines to %s", total.Currency, total.Effective, sums[total.Currency])
		}
	}
	_ = s.String()
}

func seed(f *testing.F, names ...string) {
	for _, name := range names {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		rows := bytes.SplitAfter(b, []byte("\n"))
		f.Add(bytes.Join(rows[:min(2, len(rows))], nil)) // small seeds fuzz fast
	}
}

func FuzzText(f *testing.F) {
	seed(f, "focus-small.csv", "cur2.csv", "gcp.csv", "gcp.jsonl")
	f.Add([]byte(`[{"usage_start_time":"2026-09-01","usage_end_time":"2026-09-01","sku":{"id":{"a":[]}},"cost":1,"currency":"USD","invoice":{"month":"202609"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !bytes.HasPrefix(data, []byte("PAR1")) {
			check(t, data)
		}
	})
}

// FuzzParquet breaks the pages of Parquet files and cuts them. It leaves the
// footer as it is: the library believes the lengths of lists in it, and asks for
// as much memory as they say.
func FuzzParquet(f *testing.F) {
	var files [][]byte
	for _, how := range slices.Sorted(maps.Keys(storedAs)) {
		files = append(files, inParquet(f, "focus-small.csv", storedAs[how]))
	}
	f.Add(uint8(0), uint16(0), []byte{})
	f.Add(uint8(1), uint16(10), []byte{0xff, 0xff, 0xff, 0x0f})
	f.Add(uint8(2), uint16(200), []byte{0})
	f.Fuzz(func(t *testing.T, which uint8, at uint16, patch []byte) {
		data := slices.Clone(files[int(which)%len(files)])
		footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
		copy(data[4+int(at)%(footer-4):footer], patch)
		check(t, data)
		if int(at) < len(data) {
			check(t, data[:at])
		}
	})
}

// FuzzAmount compares with rational numbers.
func FuzzAmount(f *testing.F) {
	for _, s := range []string{"1", "-0.0000000005", "1e-9", "2.9339099999999996", "9223372036.854775807", "1E+5", "00.10"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, rounded, err := amountOf(text)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(strings.TrimSpace(text))
		if !ok {
			t.Fatalf("%q is read as %s", text, n)
		}
		off := exact.Sub(exact, new(big.Rat).SetFrac64(int64(n), int64(money.Unit)))
		if half := big.NewRat(1, 2*int64(money.Unit)); off.Abs(off).Cmp(half) > 0 || rounded != (off.Sign() != 0) {
			t.Fatalf("%q is read as %s, off by %s, rounded %v", text, n, off.FloatString(12), rounded)
		}
	})
}
