// SPDX-License-Identifier: Apache-2.0

package ledgerfile

import (
	"encoding/json"
	"io"
	"iter"

	"github.com/gputally/gputally/internal/adapter/tablefile"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
)

// booked is a line with what is known of its pod.
type booked struct {
	*ledger.Line
	pod report.PodDimensions
}

type lineColumn = tablefile.Column[booked]

// lineColumns are the columns of lines, in their order.
var lineColumns = []lineColumn{
	tablefile.Text("line_id", func(b booked) string { return b.ID }),
	tablefile.Text("entry_id", func(b booked) string { return b.Entry }),
	tablefile.Int("entry_line", func(b booked) int64 { return int64(b.Seq) }),
	tablefile.Text("adjusts", func(b booked) string { return b.Adjusts }),
	tablefile.Text("kind", func(b booked) string { return string(b.Kind) }),
	tablefile.Text("step", func(b booked) string { return string(b.Step) }),
	tablefile.Int("booking", func(b booked) int64 { return int64(b.Booking) }),
	tablefile.Text("booked_month", func(b booked) string { return b.Period.String() }),
	tablefile.Text("cluster_set", func(b booked) string { return b.Set }),
	tablefile.Text("cluster", func(b booked) string { return b.Cluster }),
	tablefile.Text("node", func(b booked) string { return b.Node }),
	tablefile.Time("hour", func(b booked) int64 { return b.HourMS }),
	tablefile.Time("charge_start", func(b booked) int64 { return b.StartMS }),
	tablefile.Int("charge_ms", func(b booked) int64 { return b.DurationMS }),
	tablefile.Text("resource", func(b booked) string { return string(b.Resource) }),
	tablefile.Text("slot", func(b booked) string { return b.Slot }),
	tablefile.Text("gpu", func(b booked) string { return string(b.Partition.Device) }),
	tablefile.Text("partition", func(b booked) string { return partition(b.Line) }),
	tablefile.Text("model", func(b booked) string { return b.Model }),
	tablefile.Text("profile", func(b booked) string { return b.Profile }),
	tablefile.Text("mode", func(b booked) string { return string(b.Mode) }),
	tablefile.Text("class", func(b booked) string { return string(b.Class()) }),
	tablefile.Text("entry_kind", func(b booked) string { return string(b.EntryKind) }),
	tablefile.Text("account", func(b booked) string { return b.Account }),
	tablefile.Text("from_account", func(b booked) string { return b.From }),
	tablefile.Text("note", func(b booked) string { return b.Note }),
	tablefile.Text("namespace", func(b booked) string { return b.Holder.Namespace }),
	tablefile.Text("pod", func(b booked) string { return b.Holder.Pod }),
	tablefile.Text("pod_uid", func(b booked) string { return b.Holder.PodUID }),
	tablefile.Text("unit", func(b booked) string { return b.Holder.Unit }),
	tablefile.Text("workload_kind", func(b booked) string { return b.pod.Owner.Kind }),
	tablefile.Text("workload", func(b booked) string { return b.pod.Owner.Name }),
	tablefile.JSON("labels", func(b booked) string { return nested(b.pod.Labels, len(b.pod.Labels)) }),
	tablefile.Text("policy", func(b booked) string { return b.Policy }),
	tablefile.Text("currency", func(b booked) string { return string(b.Currency) }),
	tablefile.Amount("amount", func(b booked) *money.Nano { return b.Amount }),
	tablefile.Amount("moved", func(b booked) *money.Nano { return b.Moved }),
	tablefile.Text("price_grade", func(b booked) string { return string(b.Price) }),
	tablefile.Text("price_source", func(b booked) string { return basis(b.Line, func() string { return b.Basis.Source }) }),
	tablefile.Text("price_row", func(b booked) string { return basis(b.Line, func() string { return b.Basis.Row }) }),
	tablefile.Text("price_split", func(b booked) string { return basis(b.Line, func() string { return b.Basis.Split }) }),
	tablefile.Int("share_ms", func(b booked) int64 { return b.ShareMS }),
	tablefile.Int("used_ms", func(b booked) int64 { return b.UsedMS }),
	tablefile.Int("unused_ms", func(b booked) int64 { return b.UnusedMS }),
	tablefile.Wide("held_byte_ms", func(b booked) string { return b.ByteMS.String() }),
	tablefile.Int("present_ms", func(b booked) int64 { return b.PresentMS }),
	tablefile.Int("granted_ms", func(b booked) int64 { return b.GrantedMS }),
	tablefile.Int("cpu_nanos", func(b booked) int64 { return b.CPUNanos }),
	tablefile.Int("cpu_request_milli_ms", func(b booked) int64 { return b.CPURequestMilliMS }),
	tablefile.Wide("memory_request_byte_ms", func(b booked) string { return b.RequestByteMS.String() }),
	tablefile.Text("grade", func(b booked) string { return string(b.Grade) }),
	tablefile.JSON("grades", func(b booked) string { return nested(b.Grades, len(b.Grades)) }),
	tablefile.Time("booked_at", func(b booked) int64 { return b.Revision.AtMS }),
	tablefile.Text("records_digest", func(b booked) string { return b.Revision.Records }),
	tablefile.Text("prices_revision", func(b booked) string { return b.Revision.Prices }),
	tablefile.Text("bill_revision", func(b booked) string { return b.Revision.Bill }),
	tablefile.Text("by", func(b booked) string { return b.Revision.By }),
	tablefile.Text("reason", func(b booked) string { return b.Revision.Reason }),
}

func partition(l *ledger.Line) string {
	if l.Partition.Device == "" {
		return ""
	}
	return l.Partition.String()
}

func basis(l *ledger.Line, of func() string) string {
	if l.Basis == nil {
		return ""
	}
	return of()
}

// nested is a value as JSON, empty where it has nothing in it.
func nested(v any, n int) string {
	if n == 0 {
		return ""
	}
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// Lines writes lines as they come, and returns how many.
func Lines(w io.Writer, format string, lines iter.Seq2[*ledger.Line, error], pods report.Lookup) (int64, error) {
	out, err := open(w, format, "gputally_lines", lineColumns)
	if err != nil {
		return 0, err
	}
	for l, err := range lines {
		if err != nil {
			return out.Rows, err
		}
		b := booked{Line: l}
		if pods != nil && l.Holder.PodUID != "" {
			if d, ok := pods(l.Holder.PodUID, l.HourMS); ok {
				b.pod = *d
			}
		}
		if err := out.Write(b); err != nil {
			return out.Rows, err
		}
	}
	return out.Rows, out.Close()
}
