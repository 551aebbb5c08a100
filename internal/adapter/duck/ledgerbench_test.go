// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/storetest"
)

// The ledger that is measured: GPUTALLY_BENCH_GPUS GPUs (800) with three lines each
// an hour, GPUTALLY_BENCH_DAYS days (7). 10000 GPUs and 30 days are 21.6 million
// lines. With GPUTALLY_BENCH_DIR it is kept and used again.
func fleetSize() (gpus, days int) {
	return envNumber("GPUTALLY_BENCH_GPUS", 800), envNumber("GPUTALLY_BENCH_DAYS", 7)
}

func envNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

const benchStart = storetest.Start / (24 * hourMS) * (24 * hourMS)

// fleetHour is what rating books for all nodes of an hour: on each GPU two pods and
// what is idle. Pods live for a day.
func fleetHour(gpus, hour int) (out []rating.Booking) {
	for node := range gpus / gpusPerNode {
		h := ledger.NodeHour{Cluster: fmt.Sprint("c", node%4), Node: fmt.Sprintf("gpu-node-%05d", node), HourMS: benchStart + int64(hour)*hourMS}
		b := rating.Booking{Rated: rating.Rated{NodeHour: h, Booking: 1, Revision: ledger.Revision{Records: strings.Repeat("0123456789abcdef", 4), Prices: "p", Policy: "held", AtMS: h.HourMS}},
			Pods: map[string]report.PodDimensions{}}
		cost := pricing.NodeCost{Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS, DurationMS: hourMS, Priced: true, Currency: "USD", CPUMilli: 1, MemoryBytes: 1,
			Basis: pricing.Basis{Grade: pricing.Listed, Source: "list", Row: fmt.Sprint("row-", node%20), Hourly: 98_320_000_000, Split: "residual"}}
		for g := range gpusPerNode {
			slot := pricing.SlotCost{Slot: fmt.Sprintf("00000000:%02X:00.0", g), Cost: 12_290_000_000}
			cost.Slots, cost.Total = append(cost.Slots, slot), cost.Total+slot.Cost
			left, share := slot.Cost, int64(hourMS)
			for p := range 3 {
				amount, ms := left, share
				if p < 2 {
					amount = slot.Cost / money.Nano(3+(node+g+hour+p)%5)
					ms = hourMS / int64(3+(node+g+hour+p)%5)
				}
				left, share = left-amount, share-ms
				b.Lines = append(b.Lines, fleetLine(&b, h, slot, node, g, hour, p, amount, ms, &cost.Basis))
			}
		}
		b.Rated.Costs = []pricing.NodeCost{cost}
		out = append(out, b)
	}
	return out
}

func fleetLine(b *rating.Booking, h ledger.NodeHour, slot pricing.SlotCost, node, g, hour, p int, amount money.Nano, ms int64, basis *pricing.Basis) ledger.Line {
	l := ledger.Line{
		Kind: ledger.Charge, Step: ledger.Booked, Seq: 1, Booking: 1, Period: ledger.MonthOf(h.HourMS), Amount: &amount, Grade: gpu.Measured, Basis: basis, Revision: b.Rated.Revision,
		Facts: ledger.Facts{NodeHour: h, StartMS: h.HourMS, DurationMS: hourMS, Resource: allocation.ResourceGPU, Slot: slot.Slot,
			Partition: gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%08x-%04x-4000-8000-0123456789ab", node, g))), EntryKind: allocation.Direct, Policy: "held", Model: "NVIDIA H100 80GB HBM3",
			Mode: gpu.ModeTimeSlicing, Currency: "USD", Price: pricing.Listed},
		Quantities: ledger.Quantities{ShareMS: ms, UsedMS: ms / 2, UnusedMS: ms / 3, PresentMS: ms, GrantedMS: hourMS, ByteMS: ledger.WideOf(ms << 34)},
	}
	n := uint64(hour)<<40 | uint64(node)<<8 | uint64(g)<<4 | uint64(p)
	l.Entry, l.ID = fmt.Sprintf("%016x%016x", n*0x9e3779b97f4a7c15, n), fmt.Sprintf("%016x%016x", n*0xc2b2ae3d27d4eb4f, n+1<<63)
	if p == 2 {
		l.EntryKind, l.Account = allocation.Platform, allocation.Idle
		l.UsedMS, l.UnusedMS, l.PresentMS, l.GrantedMS, l.ByteMS = 0, 0, 0, 0, ledger.Wide{}
	} else {
		job := (node*gpusPerNode+g)*2 + p
		uid := fmt.Sprintf("%08x-%04x-4000-8000-%012x", job, hour/24, job)
		l.Holder = workload.Holder{Kind: workload.KindPod, PodUID: uid, Namespace: fmt.Sprintf("ns-%02d", job%60), Pod: fmt.Sprintf("job-%04d-%05d-%d", job%2000, job, hour/24)}
		l.Account = l.Holder.Account()
		b.Pods[uid] = report.PodDimensions{Owner: workload.Owner{Kind: "Job", Name: fmt.Sprintf("job-%04d", job%2000)},
			Labels: map[string]string{"team": fmt.Sprintf("team-%02d", job%25), "app": fmt.Sprintf("app-%03d", job%200)}}
	}
	l.Grades = whole(&l)
	return l
}

// fleetLedger is a store with the fleet's lines.
func fleetLedger(b *testing.B) (s *Store, gpus, days int) {
	b.Helper()
	gpus, days = fleetSize()
	dir := os.Getenv("GPUTALLY_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	s, _, err := Open(context.Background(), dir, Options{MemoryBytes: 512 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	ctx := context.Background()
	var have int
	if err := s.db.QueryRow("SELECT count(DISTINCT hour) FROM ledger_hour").Scan(&have); err != nil {
		b.Fatal(err)
	}
	if have >= days*24 {
		return s, gpus, days
	}
	forgetPeak()
	for hour := have; hour < min(days, bookedDays)*24; hour++ {
		if err := s.Book(ctx, fleetHour(gpus, hour)); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("booked %d GPUs hour by hour: peak memory %d MiB", gpus, peakMemory())
	spent := time.Duration(0)
	for day := have / 24; day < days; day++ {
		if day >= bookedDays {
			copyDay(b, s, day)
		}
		forgetPeak()
		began := time.Now()
		if err := errors.Join(s.Compact(ctx, hourTime(hourOf(benchStart)+int32(day)*24)), s.Checkpoint(ctx)); err != nil {
			b.Fatal(err)
		}
		spent = max(spent, time.Since(began))
	}
	b.Logf("compacted days of %d lines: the slowest took %s, the last had a peak memory of %d MiB", gpus*3*24, spent.Round(time.Millisecond), peakMemory())
	return s, gpus, days
}

// bookedDays are booked hour by hour; the days after them are made like these in
// SQL, with ids and pods of their own, in a fraction of the time.
const bookedDays = 2

func copyDay(b *testing.B, s *Store, day int) {
	b.Helper()
	from, by := hourOf(benchStart)+int32(day%bookedDays)*24, int32(day-day%bookedDays)*24
	where := fmt.Sprintf(" FROM %%s WHERE hour BETWEEN %d AND %d", from, from+23)
	month := ledger.MonthOf(benchStart + int64(day)*24*hourMS)
	for _, query := range []string{
		fmt.Sprintf(`INSERT INTO ledger_line SELECT * REPLACE (hour + %d AS hour, start_ms + %d AS start_ms, uuid() AS id, uuid() AS entry, %d AS period,
			CASE pod_uid WHEN '' THEN '' ELSE left(pod_uid, 28) || lpad('%[4]d', 8, '0') END AS pod_uid, CASE pod_name WHEN '' THEN '' ELSE pod_name || '%[4]d' END AS pod_name)`,
			by, int64(by)*hourMS, month, day) + fmt.Sprintf(where, "ledger_line"),
		fmt.Sprintf("INSERT INTO ledger_hour SELECT * REPLACE (hour + %d AS hour)", by) + fmt.Sprintf(where, "ledger_hour"),
	} {
		if _, err := s.db.Exec(query); err != nil {
			b.Fatal(err)
		}
	}
}

// bareSums are the figures of a report's row, as one would ask for them by hand:
// cost with what was moved, GPU and host quantities, and the mix of grades.
var bareSums = func() string {
	sums := "count(*), sum(amount), sum(moved), sum(share_ms), sum(used_ms), sum(unused_ms), sum(present_ms), sum(granted_ms), sum(byte_ms), " +
		"sum(cpu_nanos), sum(cpu_request_milli_ms), sum(request_byte_ms), sum(amount) FILTER (NOT graded), sum(moved) FILTER (NOT graded)"
	for i := range gpu.Grades() {
		sums += fmt.Sprintf(", sum(amount%d), sum(moved%[1]d)", i)
	}
	return sums
}()

// BenchmarkReport asks the reports of a month's end of a large fleet, each beside
// what DuckDB needs to add up the same figures of all lines: no balance, no totals
// beside the rows.
func BenchmarkReport(b *testing.B) {
	s, gpus, days := fleetLedger(b)
	from, to := int64(benchStart), benchStart+int64(days)*24*hourMS
	spec := func(where report.Filter, top int, by ...report.Dimension) report.Spec {
		out := report.Spec{FromMS: from, ToMS: to, By: by, Top: top}
		if where.By != "" {
			out.Where = []report.Filter{where}
		}
		return out
	}
	device := fmt.Sprintf("GPU-%08x-%04x-4000-8000-0123456789ab", gpus/gpusPerNode/2, 3)
	for _, q := range []struct {
		name string
		spec report.Spec
		bare string
	}{
		{"namespace", spec(report.Filter{}, 0, report.Namespace), "SELECT namespace, sort, " + bareSums + " FROM ledger_line GROUP BY ALL"},
		{"team-day", spec(report.Filter{}, 0, report.Label("team"), report.Day), "SELECT pod, hour // 24, sort, " + bareSums + " FROM ledger_line GROUP BY ALL"},
		{"one-gpu", spec(report.Filter{By: report.GPU, In: []string{device}}, 0, report.Account, report.Hour), "SELECT namespace, pod_name, hour, " + bareSums + " FROM ledger_line WHERE device = '" + device + "' GROUP BY ALL"},
		{"top-idle", spec(report.Filter{By: report.Account, In: []string{"idle"}}, 20, report.GPU), "SELECT device, " + bareSums + " FROM ledger_line JOIN ledger_sort ON sort = ledger_sort.id WHERE ledger_sort.account = 'idle' GROUP BY ALL ORDER BY sum(amount) DESC LIMIT 20"},
	} {
		b.Run(q.name, func(b *testing.B) {
			var times, bare []time.Duration
			forgetPeak()
			for b.Loop() {
				began := time.Now()
				r, err := s.Report(context.Background(), q.spec)
				if err != nil {
					b.Fatal(err)
				}
				times = append(times, time.Since(began))
				if len(r.Sections) != 1 || r.Sections[0].Total.Lines == 0 || len(r.Sections[0].Balance.Differences) > 1 {
					b.Fatalf("%+v", r.Sections)
				}
				b.StopTimer()
				began = time.Now()
				if err := s.bare(q.bare); err != nil {
					b.Fatal(err)
				}
				bare = append(bare, time.Since(began))
				b.StartTimer()
			}
			slices.Sort(times)
			slices.Sort(bare)
			b.ReportMetric(float64(times[(len(times)*99-1)/100].Milliseconds()), "p99-ms")
			b.ReportMetric(float64(bare[len(bare)/2].Microseconds())/1000, "bare-ms")
			b.ReportMetric(float64(times[len(times)/2])/float64(bare[len(bare)/2]), "of-bare")
			b.ReportMetric(float64(peakMemory()), "peak-MiB")
			b.ReportMetric(float64(gpus*3*24*days), "lines")
		})
	}
}

func (s *Store) bare(query string) error {
	conn, err := connectColumnar(s.columns)
	if err != nil {
		return err
	}
	defer conn.close()
	return conn.exec(context.Background(), query)
}

// forgetPeak has peakMemory start anew, where the kernel lets it.
func forgetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
}

// peakMemory is the most that the process has had since forgetPeak, in MiB; 0 where
// nobody tells.
func peakMemory() (n int) {
	data, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &n); err == nil {
			return n >> 10
		}
	}
	return 0
}

// BenchmarkBook books hours of a fleet, all its nodes in one transaction.
func BenchmarkBook(b *testing.B) {
	gpus, _ := fleetSize()
	s := benchStore(b, b.TempDir())
	hour, lines := 0, 0
	forgetPeak()
	for b.Loop() {
		b.StopTimer()
		group := fleetHour(gpus, hour)
		hour++
		b.StartTimer()
		if err := s.Book(context.Background(), group); err != nil {
			b.Fatal(err)
		}
		lines += 3 * gpus
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "lines/s")
	b.ReportMetric(float64(lines), "lines")
	b.ReportMetric(float64(peakMemory()), "peak-MiB")
}
