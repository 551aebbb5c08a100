// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/workload"
)

// entry is a charge of a node's hour. The id is of who and what, as allocation
// makes it.
func entry(h ledger.NodeHour, who, resource string, shareMS int64, amount *money.Nano) allocation.Entry {
	kind, account, _ := strings.Cut(who, ":")
	e := allocation.Entry{
		Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: h.HourMS, DurationMS: hourMS, Resource: allocation.Resource(resource),
		Kind: allocation.Kind(kind), Account: account, Policy: "held", Amount: amount, Quantities: allocation.Quantities{ShareMS: shareMS, Grade: gpu.Measured},
	}
	if amount != nil {
		e.Currency, e.Basis = "USD", &pricing.Basis{Grade: pricing.Listed, Source: "book", Row: "p4d", Revision: "r1", Split: "residual"}
	}
	switch e.Kind {
	case allocation.Direct, allocation.Leak:
		e.Holder = workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + account, Namespace: "ml", Pod: account}
		e.Account = "ml/" + account
	case allocation.Shared:
		e.From = allocation.Idle
		e.ShareMS = 0
	}
	if e.Resource == allocation.ResourceGPU {
		e.Slot, e.Model, e.Mode = "0", "NVIDIA A100", "mps"
		e.Partition = gpu.Whole("GPU-1")
	}
	e.ID = fmt.Sprint(h, e.StartMS, e.Resource, who, e.Policy)
	return e
}

// journal is lines as a ledger's store has them.
type journal struct{ lines []ledger.Line }

type failer interface {
	Helper()
	Fatal(...any)
}

func (j *journal) rate(t failer, h ledger.NodeHour, p ledger.Periods, rev ledger.Revision, entries ...allocation.Entry) {
	t.Helper()
	var before []ledger.Line
	for _, l := range j.lines {
		if l.NodeHour == h && !l.IsDrift() {
			before = append(before, l)
		}
	}
	lines, err := ledger.Book(before, ledger.Rating{NodeHour: h, Entries: entries, Revision: rev}, p)
	if err != nil {
		t.Fatal(err)
	}
	j.add(lines)
}

func (j *journal) add(lines []ledger.Line) {
	j.lines = append(j.lines, lines...)
	slices.SortFunc(j.lines, func(a, b ledger.Line) int { return a.Compare(&b) })
}

func (j *journal) where(choose func(*ledger.Line) bool) iter.Seq2[*ledger.Line, error] {
	return func(yield func(*ledger.Line, error) bool) {
		for i := range j.lines {
			if l := j.lines[i]; choose(&l) && !yield(&l, nil) { // a copy: what is yielded is the caller's
				return
			}
		}
	}
}

// books is what was booked in a month, or all (0).
func (j *journal) books(booked ledger.Month) Books {
	return Books{
		Lines: j.where(func(l *ledger.Line) bool { return booked == 0 || l.Period == booked }),
		Hour: func(ms int64) iter.Seq2[*ledger.Line, error] {
			return j.where(func(l *ledger.Line) bool { return floorHour(l.StartMS) == ms })
		},
	}
}

func exported(t failer, b Books) ([]map[string]string, Summary) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewCSV(&buf)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := Export(w, b)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&buf).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var out []map[string]string
	for _, r := range records[1:] {
		m := map[string]string{}
		for i, cell := range r {
			if cell != "" {
				m[records[0][i]] = cell
			}
		}
		out = append(out, m)
	}
	if int64(len(out)) != sum.Rows {
		t.Fatal(len(out), "rows were written, the summary says", sum.Rows)
	}
	return out, sum
}

func hourAt(text string) ledger.NodeHour {
	at, err := time.Parse("2006-01-02T15", text)
	if err != nil {
		panic(err)
	}
	return ledger.NodeHour{Cluster: "c", Node: "n1", HourMS: at.UnixMilli()}
}

func ref(text string) *money.Nano { n := nano(text); return &n }

func closed(text string) ledger.Periods {
	m, err := ledger.ParseMonth(text)
	if err != nil {
		panic(err)
	}
	return ledger.NewPeriods(nil, []ledger.Closed{{Scope: ledger.Scope{Currency: "USD"}, Month: m}})
}

// TestLedgerRows: a row has what the lines, the node and the pod say.
func TestLedgerRows(t *testing.T) {
	h := hourAt("2026-11-03T10")
	var j journal
	j.rate(t, h, ledger.Periods{}, ledger.Revision{},
		entry(h, "direct:a", "gpu", 1_800_000, ref("6")), entry(h, "direct:a", "cpu", 900_000, ref("1")), entry(h, "direct:a", "memory", 900_000, ref("0.5")),
		entry(h, "platform:idle", "gpu", 1_800_000, ref("6")), entry(h, "platform:idle", "cpu", 2_700_000, ref("3")),
		entry(h, "shared:research", "gpu", 0, ref("0.25")), entry(h, "direct:u", "gpu", 3_600_000, nil))
	b := j.books(0)
	b.Account = Account{ID: "acme", Name: "ACME"}
	node := pricing.Node{Cluster: "c", Name: "n1", ProviderID: "aws:///us-east-1a/i-0abc", InstanceType: "p4d.24xlarge", Region: "us-east-1", Zone: "us-east-1a",
		Capacity: pricing.Spot, Slots: []pricing.Slot{{Name: "0"}, {Name: "1"}}}
	b.Rated = func(yield func(*rating.Rated, error) bool) {
		early, late := hourAt("2026-11-03T09"), hourAt("2026-11-03T11")
		_ = yield(&rating.Rated{NodeHour: early}, nil) && yield(&rating.Rated{NodeHour: h, Nodes: []rating.Piece{{FromMS: h.HourMS, ToMS: h.HourMS + hourMS, Node: node}},
			Costs: []pricing.NodeCost{{StartMS: h.HourMS, DurationMS: hourMS, CPUMilli: 96_000, MemoryBytes: 1152 << 30}}}, nil) && yield(&rating.Rated{NodeHour: late}, nil)
	}
	b.Pods = func(uid string, hourMS int64) (*report.PodDimensions, bool) {
		return &report.PodDimensions{Owner: workload.Owner{Kind: "Job", Name: "train"}, Labels: map[string]string{"team": "vision", "cluster": "c"}}, uid == "uid-a" && hourMS == h.HourMS
	}
	rows, sum := exported(t, b)
	want := map[string]string{
		"AllocatedMethodDetails": `{"Elements":[{"AllocatedRatio":0.358208955,"UsageUnit":"GPU-Hours","UsageQuantity":0.5},{"AllocatedRatio":0.059701493,"UsageUnit":"vCPU-Hours","UsageQuantity":24},{"AllocatedRatio":0.029850746,"UsageUnit":"GiB-Hours","UsageQuantity":288}]}`,
		"AllocatedMethodId":      "gputally-1: held", "AllocatedResourceId": "uid-a", "AllocatedResourceName": "ml/a", "AllocatedTags": `{"team":"vision"}`,
		"AvailabilityZone": "us-east-1a", "BilledCost": "7.50", "ContractedCost": "7.50", "EffectiveCost": "7.50", "ListCost": "7.50", "BillingCurrency": "USD",
		"BillingAccountId": "acme", "BillingAccountName": "ACME", "SubAccountId": "c", "SubAccountName": "c",
		"BillingPeriodStart": "2026-11-01T00:00:00Z", "BillingPeriodEnd": "2026-12-01T00:00:00Z", "ChargePeriodStart": "2026-11-03T10:00:00Z", "ChargePeriodEnd": "2026-11-03T11:00:00Z",
		"ChargeCategory": "Usage", "ChargeDescription": "GPU node n1 (p4d.24xlarge)", "ChargeFrequency": "Usage-Based", "PricingCategory": "Dynamic",
		"ConsumedQuantity": "0.447761194", "ConsumedUnit": "Hours", "PricingQuantity": "0.447761194", "PricingUnit": "Hours",
		"HostProviderName": "AWS", "InvoiceIssuerName": "AWS", "ProviderName": "AWS", "PublisherName": "AWS", "ServiceProviderName": "AWS",
		"RegionId": "us-east-1", "RegionName": "us-east-1", "ResourceId": "aws:///us-east-1a/i-0abc", "ResourceName": "n1", "ResourceType": "Instance",
		"ServiceCategory": "Compute", "ServiceName": "Amazon Elastic Compute Cloud", "ServiceSubcategory": "Virtual Machines",
		"SkuId": "p4d.24xlarge", "SkuMeter": "Instance Hours", "SkuPriceDetails": `{"GpuCount":2,"InstanceType":"p4d.24xlarge"}`, "SkuPriceId": "book/p4d", "Tags": `{"cluster":"c"}`,
		"x_Cluster": "c", "x_GpuModel": "NVIDIA A100", "x_GpuUuid": "GPU-1", "x_Grade": "measured", "x_Kind": "direct", "x_Namespace": "ml", "x_Node": "n1", "x_PodName": "a",
		"x_OriginChargeId": "c/n1/2026-11-03T10:00:00Z/3600000/USD", "x_Policy": "held", "x_PriceGrade": "listed", "x_PriceRevision": "r1", "x_PriceRow": "p4d", "x_PriceSource": "book",
		"x_PriceSplit": "residual", "x_SharingMode": "mps", "x_WorkloadKind": "Job", "x_WorkloadName": "train",
	}
	at := slices.IndexFunc(rows, func(r map[string]string) bool { return r["AllocatedResourceId"] == "uid-a" })
	if diff := cmp.Diff(want, rows[max(at, 0)]); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var others []string
	for _, r := range rows {
		others = append(others, r["x_PlatformAccount"]+r["AllocatedResourceName"]+" "+r["EffectiveCost"]+" "+r["x_PlatformAccountNote"])
	}
	if diff := cmp.Diff([]string{"research 0.25 idle", "ml/a 7.50 ", "idle 9.00 "}, others); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if sum.Charges != 1 || sum.UnpricedLines != 1 || sum.UnpricedMS != 3_600_000 || sum.Sums["USD"].String() != "16.75" {
		t.Errorf("%+v", sum)
	}
}

// The four corrections of FOCUS, from the lines of a ledger: what was charged for
// September is found wrong while October is open.
func TestLedgerCorrections(t *testing.T) {
	h := hourAt("2026-09-01T10")
	october, _ := ledger.ParseMonth("2026-10")
	was := []allocation.Entry{entry(h, "direct:r-111", "gpu", 2_400_000, ref("1500")), entry(h, "platform:idle", "gpu", 1_200_000, ref("300"))}
	for name, c := range map[string]struct {
		was, is []allocation.Entry
		rev     ledger.Revision
		want    []string
	}{
		"another allocation": {
			was, []allocation.Entry{entry(h, "direct:r-111", "gpu", 1_920_000, ref("1200")), entry(h, "direct:r-222", "gpu", 480_000, ref("300")), was[1]},
			ledger.Revision{Records: "2"}, []string{"uid-r-111 -300.00 Usage -0.166666667", "uid-r-222 300.00 Usage 0.166666667"},
		},
		"usage that came late": {nil, was, ledger.Revision{}, []string{"uid-r-111 1500.00 Usage 0.833333333", "idle 300.00 Usage 0.166666667"}},
		"a price a thousandth too low": {
			was, []allocation.Entry{entry(h, "direct:r-111", "gpu", 2_400_000, ref("1501.5")), entry(h, "platform:idle", "gpu", 1_200_000, ref("300.3"))},
			ledger.Revision{Prices: "2"}, []string{"uid-r-111 1.50 Usage 0.00", "idle 0.30 Usage 0.00"},
		},
		"taken back whole": {was, nil, ledger.Revision{Reason: "the node was a test"}, []string{"uid-r-111 -1500.00 Usage -0.833333333", "idle -300.00 Usage -0.166666667"}},
	} {
		var j journal
		j.rate(t, h, ledger.Periods{}, ledger.Revision{}, c.was...)
		j.rate(t, h, closed("2026-09"), c.rev, c.is...)
		rows, sum := exported(t, j.books(october))
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprint(r["AllocatedResourceId"], r["x_PlatformAccount"], " ", r["EffectiveCost"], " ", r["ChargeCategory"], " ", r["ConsumedQuantity"]))
			if r["ChargeClass"] != "Correction" || r["BillingPeriodStart"] != "2026-10-01T00:00:00Z" || r["ChargePeriodStart"] != "2026-09-01T10:00:00Z" || r["x_CorrectionReason"] == "" {
				t.Errorf("%s: no correction in the open month: %v", name, r)
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if diff := cmp.Diff(c.want, got); diff != "" || sum.Corrections != 1 || sum.Charges != 0 {
			t.Errorf("%s: %+v (-want +got):\n%s", name, sum, diff)
		}
	}
}

func TestLedgerDrift(t *testing.T) {
	h := hourAt("2026-09-01T10")
	m := ledger.MonthOf(h.HourMS)
	d := ledger.Drift{Reference: "invoice 9", Cluster: "c", Currency: "USD", Amount: 2_000_000, FromMS: m.StartMS(), ToMS: m.EndMS(), Revision: ledger.Revision{Reason: "rounding"}}
	var j journal
	first, err := ledger.BookDrift(nil, d, ledger.Periods{})
	if err != nil {
		t.Fatal(err)
	}
	d.Amount = 3_000_000
	second, err := ledger.BookDrift(first, d, closed("2026-09"))
	if err != nil {
		t.Fatal(err)
	}
	j.add(append(first, second...))
	rows, sum := exported(t, j.books(0))
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r["ChargeCategory"], r["ChargeClass"], " ", r["BillingPeriodStart"], " ", r["EffectiveCost"], r["ConsumedQuantity"], r["AllocatedMethodId"], r["ResourceId"]))
	}
	want := []string{"Adjustment 2026-09-01T00:00:00Z 0.002", "AdjustmentCorrection 2026-10-01T00:00:00Z 0.001"}
	if diff := cmp.Diff(want, got); diff != "" || sum.Drifts != 2 || sum.Sums["USD"].String() != "0.003" {
		t.Errorf("%+v (-want +got):\n%s", sum, diff)
	}
}

func TestReasons(t *testing.T) {
	line := func(r ledger.Revision, booking int) *ledger.Line { return &ledger.Line{Revision: r, Booking: booking} }
	was := []*ledger.Line{line(ledger.Revision{Records: "a", Prices: "p"}, 1), line(ledger.Revision{Records: "b", Prices: "p"}, 2)}
	for want, is := range map[string]ledger.Revision{
		"rated again": {Records: "b", Prices: "p"}, "rated again, since these changed: usage records, a bill": {Records: "c", Prices: "p", Bill: "x"}, "since I say so": {Reason: "since I say so"},
	} {
		if got := reasonOf(was, []*ledger.Line{line(is, 3)}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := reasonOf(nil, was); got != "records of a closed month came late" {
		t.Error(got)
	}
}

func TestExportFails(t *testing.T) {
	bad := errors.New("disk")
	w, err := NewCSV(&bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Export(w, Books{Lines: func(yield func(*ledger.Line, error) bool) { yield(nil, bad) }}); !errors.Is(err, bad) {
		t.Errorf("lines that cannot be read: %v", err)
	}
	h := hourAt("2026-09-01T10")
	var j journal
	j.rate(t, h, ledger.Periods{}, ledger.Revision{}, entry(h, "direct:a", "gpu", 1, ref("1")))
	b := j.books(0)
	b.Rated = func(yield func(*rating.Rated, error) bool) { yield(nil, bad) }
	if _, err := Export(w, b); !errors.Is(err, bad) {
		t.Errorf("hours that cannot be read: %v", err)
	}
	j.rate(t, h, closed("2026-09"), ledger.Revision{}, entry(h, "direct:a", "gpu", 1, ref("2")))
	b = j.books(0)
	b.Hour = func(int64) iter.Seq2[*ledger.Line, error] {
		return func(yield func(*ledger.Line, error) bool) { yield(nil, bad) }
	}
	if _, err := Export(w, b); !errors.Is(err, bad) {
		t.Errorf("an hour that cannot be read: %v", err)
	}
}

// Whatever is booked, and in whichever months: the rows sum to the lines, in each
// currency, for each pod and account, by time and month of booking by month.
func TestTheFileIsTheLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := []ledger.NodeHour{hourAt("2026-09-30T23"), hourAt("2026-10-01T00"), hourAt("2026-10-01T01")}
		hours = append(hours, hours[0])
		hours[3].Node = "n2"
		var j journal
		for k, periods := range []ledger.Periods{{}, {}, closed("2026-09"), closed("2026-10"), closed("2026-11")} {
			for _, h := range hours {
				if rapid.Bool().Draw(t, "rated") {
					j.rate(t, h, periods, ledger.Revision{Records: fmt.Sprint(k)}, drawEntries(t, h)...)
				}
			}
		}
		want, wantBy := sumsOf(&j, 0)
		rows, sum := exported(t, j.books(0))
		compare(t, "by time", rows, sum, want, wantBy)
		by := map[string]money.Nano{}
		for m, end := ledger.MonthOf(hours[0].HourMS), ledger.MonthOf(hours[0].HourMS)+4; m < end; m++ {
			want, wantBy := sumsOf(&j, m)
			rows, sum := exported(t, j.books(m))
			compare(t, m.String(), rows, sum, want, wantBy)
			for _, r := range rows {
				by[r["AllocatedResourceId"]+r["x_PlatformAccount"]+r["BillingCurrency"]] += nano(r["EffectiveCost"])
			}
		}
		for k, n := range by {
			if n != wantBy[k] {
				t.Fatalf("%s is %s over all months, the lines say %s", k, n, wantBy[k])
			}
		}
	})
}

func drawEntries(t *rapid.T, h ledger.NodeHour) (out []allocation.Entry) {
	whos := []string{"direct:a", "direct:b", "leak:a", "platform:idle", "platform:overhead", "shared:research"}
	for _, who := range rapid.SliceOfNDistinct(rapid.SampledFrom(whos), 0, 6, rapid.ID[string]).Draw(t, "who") {
		for _, of := range []string{"gpu", "cpu"} {
			n := money.Nano(rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(-5, 3_000_000_000)).Draw(t, "amount"))
			amount := &n
			if rapid.IntRange(0, 5).Draw(t, "unpriced") == 0 {
				amount = nil
			}
			e := entry(h, who, of, rapid.Int64Range(0, hourMS).Draw(t, "share"), amount)
			if amount != nil && rapid.IntRange(0, 4).Draw(t, "yuan") == 0 {
				e.Currency = "CNY"
			}
			out = append(out, e)
		}
	}
	return out
}

func sumsOf(j *journal, booked ledger.Month) (map[money.Currency]money.Nano, map[string]money.Nano) {
	all, by := map[money.Currency]money.Nano{}, map[string]money.Nano{}
	for i := range j.lines {
		l := &j.lines[i]
		if l.Amount == nil || booked != 0 && l.Period != booked {
			continue
		}
		all[l.Currency] += *l.Amount
		r := rowOf(l, nil)
		by[r.ResourceID+r.Detail.PlatformAccount+string(l.Currency)] += *l.Amount
	}
	return all, by
}

func compare(t *rapid.T, name string, rows []map[string]string, sum Summary, want map[money.Currency]money.Nano, wantBy map[string]money.Nano) {
	t.Helper()
	got, by := map[money.Currency]money.Nano{}, map[string]money.Nano{}
	for _, r := range rows {
		n := nano(r["EffectiveCost"])
		got[money.Currency(r["BillingCurrency"])] += n
		by[r["AllocatedResourceId"]+r["x_PlatformAccount"]+r["BillingCurrency"]] += n
	}
	for c, n := range want {
		if s, err := sum.Sums[c].Nano(); got[c] != n || err != nil || s != n {
			t.Fatalf("%s: rows sum to %s %s, the summary says %s, the lines %s", name, got[c], c, sum.Sums[c], n)
		}
	}
	for k, n := range wantBy {
		if by[k] != n {
			t.Fatalf("%s: %s has %s, the lines say %s", name, k, by[k], n)
		}
	}
}
