// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/report"
)

// ReportCSV writes a report as CSV with exact decimals. The first column says what
// a line is: row, then for each currency total, nodes (what they cost) and the
// differences between the two. An amount that nobody knows is empty. Class and
// account have a column in every report, whatever its rows are told apart by.
//
// A value that a spreadsheet would take for a formula gets a ' before it.
func ReportCSV(w io.Writer, r *v1.Report) error {
	c := csv.NewWriter(w)
	by := slices.DeleteFunc(slices.Clone(r.By), func(d string) bool { return d == byClass || d == byAccount })
	if err := c.Write(csvHeader(by)); err != nil {
		return err
	}
	for i := range r.Sections {
		if err := writeCSVSection(c, &r.Sections[i], by); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

// The dimensions whose columns are always there.
const (
	byClass   = string(report.Class)
	byAccount = string(report.Account)
)

func csvHeader(by []string) []string {
	out := []string{"line", "currency"}
	for _, d := range by {
		out = append(out, d)
	}
	out = append(out, byClass, byAccount, "combinations", "cost", "cost_gpu", "cost_cpu", "cost_memory", "charged", "adjusted", "corrected")
	for _, p := range allocation.PlatformAccounts() {
		out = append(out, "platform_"+p)
	}
	for _, g := range gpu.Grades() {
		out = append(out, "cost_"+string(g))
	}
	return append(out, "cost_listed", "cost_billed", "gpu_ms", "allocated_gpu_ms", "used_gpu_ms", "reserved_unused_gpu_ms", "leaked_gpu_ms",
		"present_ms", "granted_ms", "held_byte_ms", "cpu_ns", "cpu_request_milli_ms", "memory_byte_ms", "memory_request_byte_ms",
		"unpriced_gpu_ms", "unpriced_cpu_ms", "unpriced_memory_ms", "lines")
}

func writeCSVSection(c *csv.Writer, s *v1.Section, by []string) error {
	for i := range s.Rows {
		row := &s.Rows[i]
		cells := []string{"row", s.Currency}
		for _, d := range by {
			cells = append(cells, harmless(row.Keys[d]))
		}
		class, account := cmp.Or(row.Class, row.Keys[byClass]), cmp.Or(row.Account, row.Keys[byAccount])
		cells = append(cells, class, harmless(account), strconv.Itoa(max(row.Others, 1)))
		if err := c.Write(append(cells, csvColumns(&row.Columns)...)); err != nil {
			return err
		}
	}
	blank := make([]string, len(by)+3)
	if err := c.Write(append(append([]string{"total", s.Currency}, blank...), csvColumns(&s.Total)...)); err != nil {
		return err
	}
	return writeCSVBalance(c, s, blank)
}

// writeCSVBalance writes what the nodes cost and the differences, named in the
// column account.
func writeCSVBalance(c *csv.Writer, s *v1.Section, blank []string) error {
	if s.Balance.Assets == nil {
		return nil
	}
	rest := make([]string, len(csvHeader(nil))-6)
	line := func(kind, name, amount string) error {
		cells := append([]string{kind, s.Currency}, blank...)
		cells[len(cells)-2] = name
		return c.Write(append(append(cells, amount), rest...))
	}
	if err := line("nodes", "", s.Balance.Assets.String()); err != nil {
		return err
	}
	for _, d := range s.Balance.Differences {
		if err := line("difference", d.Name, d.Amount.String()); err != nil {
			return err
		}
	}
	return nil
}

func csvColumns(c *v1.Columns) []string {
	var out []string
	if k := c.Cost; k != nil {
		for _, s := range []fmt.Stringer{k.Total, k.GPU, k.CPU, k.Memory, k.Charged, k.Adjusted, k.Corrected} {
			out = append(out, s.String())
		}
		for _, p := range allocation.PlatformAccounts() {
			out = append(out, part(k.Platform, p))
		}
		for _, g := range gpu.Grades() {
			out = append(out, part(k.Grades, string(g)))
		}
		out = append(out, part(k.Prices, "listed"), part(k.Prices, "billed"))
	} else {
		out = make([]string, 7+len(allocation.PlatformAccounts())+len(gpu.Grades())+2)
		if c.Lines == 0 {
			out[0] = "0.00" // the sum of nothing is known
		}
	}
	q := &c.Quantities
	u := c.Unpriced
	if u == nil {
		u = &v1.Unpriced{}
	}
	for _, n := range []int64{q.GPUMS, q.AllocatedGPUMS, q.UsedGPUMS, q.ReservedUnusedGPUMS, q.LeakedGPUMS, q.PresentMS, q.GrantedMS} {
		out = append(out, strconv.FormatInt(n, 10))
	}
	out = append(out, q.HeldByteMS.String(), q.CPUNS.String(), q.CPURequestMilliMS.String(), q.MemoryByteMS.String(), q.MemoryRequestByteMS.String())
	for _, n := range []int64{u.GPUMS, u.CPUMS, u.MemoryMS, int64(c.Lines)} {
		out = append(out, strconv.FormatInt(n, 10))
	}
	return out
}

// part is the amount of a name, "0.00" where it is none.
func part(parts []v1.Part, name string) string {
	for _, p := range parts {
		if p.Name == name {
			return p.Amount.String()
		}
	}
	return "0.00"
}

// harmless is a text that no spreadsheet takes for a formula. Tenants write
// labels and annotations.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
