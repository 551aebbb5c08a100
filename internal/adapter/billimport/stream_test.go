// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/bill"
)

// endless is a CSV file of one row over and over, made up as it is read.
type endless struct {
	header, row string
	size        int64
}

func (e endless) ReadAt(p []byte, off int64) (n int, err error) {
	for n < len(p) && off < e.size {
		from := e.header
		if off >= int64(len(e.header)) {
			from = e.row[(off-int64(len(e.header)))%int64(len(e.row)):]
		} else {
			from = from[off:]
		}
		k := copy(p[n:], from)
		n, off = n+k, off+int64(k)
	}
	if off >= e.size {
		return n, io.EOF
	}
	return n, nil
}

// Reading needs the memory of a row, not of the file.
func TestABigFileNeedsLittleMemory(t *testing.T) {
	e := endless{
		header: "BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargeCategory,ChargePeriodStart,ChargePeriodEnd,EffectiveCost,ChargeDescription\n",
		row:    "USD,2026-09-01,2026-10-01,Usage,2026-09-01T10:00:00Z,2026-09-01T11:00:00Z,0.123456789," + strings.Repeat("words ", 60) + "\n",
	}
	const rows = 100_000
	e.size = int64(len(e.header)) + rows*int64(len(e.row))
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var most uint64
	s, err := Read(Options{Source: "s"}, []Input{{"f", e, e.size}}, func(l bill.Line) error {
		if l.Row.Number%10_000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return nil
	})
	if err != nil || s.Rows != rows || s.Totals()[0].Effective.String() != "12345.6789" {
		t.Fatalf("%v\n%v", err, s)
	}
	const limit = 4 << 20
	if grown := int64(most) - int64(before.HeapAlloc); grown > limit {
		t.Errorf("%d MB of bill took %d bytes of memory", e.size>>20, grown)
	}
}
