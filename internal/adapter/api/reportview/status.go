// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Status says how the ledger stands. What needs somebody stands first.
func Status(s *v1.Status) string {
	var b strings.Builder
	for _, t := range s.Troubles {
		fmt.Fprintf(&b, "TROUBLE, %s: %s: %s\n", clock(t.At), Plain(t.What), Plain(t.Detail))
		if t.Hint != "" {
			fmt.Fprintf(&b, "  %s\n", Plain(t.Hint))
		}
	}
	if len(s.Records.Silent) > 0 {
		b.WriteString("SILENT:\n")
		for _, n := range s.Records.Silent {
			fmt.Fprintf(&b, "  %s sent nothing since %s\n", nodeName(n.Cluster, n.Node), clock(n.Last))
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	rows := [][2]string{{"Server", "gputally " + Plain(s.Version) + ", since " + clock(s.Started)}}
	rows = append(rows, [2]string{"Records", recordsText(&s.Records)}, [2]string{"Rated", ratedText(&s.Rating)})
	rows = append(rows, [2]string{"Policy", Plain(s.Policy.ID) + "; a node's price is split by " + Plain(s.Split)})
	for i, p := range s.Prices {
		name := ""
		if i == 0 {
			name = "Prices"
		}
		text := fmt.Sprintf("%s, %s, %s", Plain(p.Name), p.Grade, count(int64(p.Rows), "row", "rows"))
		if p.Revision != "" {
			text += ", revision " + short(p.Revision)
		}
		rows = append(rows, [2]string{name, text})
	}
	if len(s.Prices) == 0 {
		rows = append(rows, [2]string{"Prices", "none: no cost will be known. Give a price book, or the list prices"})
	}
	rows = append(rows, [2]string{"Labels", orNone(Plain(strings.Join(s.Labels, ", ")))})
	for i, m := range s.Closed {
		name := ""
		if i == 0 {
			name = "Closed"
		}
		rows = append(rows, [2]string{name, "up to " + m.Month + ", " + scope(m.Set, m.Currency)})
	}
	if len(s.Closed) == 0 {
		rows = append(rows, [2]string{"Closed", "no month yet"})
	}
	pairs(&b, append(rows, [2]string{"Store", bytes(s.StoreBytes)}))
	return b.String()
}

func recordsText(r *v1.RecordsStatus) string {
	if r.Nodes == 0 {
		return "none yet: point agents here (gputally-agent --server)"
	}
	return fmt.Sprintf("of %s, %s to %s", count(int64(r.Nodes), "node", "nodes"), clock(r.First), clock(r.Last))
}

func ratedText(r *v1.RatingStatus) string {
	out := "no hour yet"
	if !r.RatedTo.IsZero() {
		out = "every hour before " + clock(r.RatedTo)
	}
	if r.DueHours > 0 {
		out += fmt.Sprintf("; %s", count(int64(r.DueHours), "hour of a node waits", "hours of nodes wait"))
		if r.OldestDue != nil {
			out += fmt.Sprintf(", the first is %s of %s", clock(r.OldestDue.Hour), nodeName(r.OldestDue.Cluster, r.OldestDue.Node))
		}
	}
	return out
}

// pairs writes names and texts in two columns.
func pairs(b *strings.Builder, rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		fmt.Fprintf(b, "%-*s  %s\n", width, r[0], r[1])
	}
}

func nodeName(cluster, node string) string {
	if cluster == "" {
		return Plain(node)
	}
	return Plain(cluster) + "/" + Plain(node)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// short is the beginning of a hash.
func short(hash string) string {
	if len(hash) > 16 {
		return Plain(hash[:12]) + "…"
	}
	return Plain(hash)
}

func scope(set, currency string) string {
	if set == "" {
		return currency
	}
	return "set " + Plain(set) + ", " + currency
}

// hourSpan is the first and the last of some hours.
func hourSpan(first, last time.Time) string {
	if first.Equal(last) {
		return clock(first)
	}
	return clock(first) + " to " + clock(last)
}
