// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/money"
)

func TestTwoBuckets(t *testing.T) {
	ten, eleven := at("2026-09-01T10:00:00Z"), at("2026-09-01T11:00:00Z")
	hours, _ := hoursOfLines(t, line(nil), line(func(l *Line) { l.Instance = "i-0bbbbbbbbbbbbbbbb" }))
	got, err := Reconcile(hours, []Metered{
		{"i-02445ff7024245edd", eleven, hourMS}, {"i-02445ff7024245edd", ten, hourMS}, {"gce/p/z/n", ten, 5},
	})
	want := Reconciled{
		Both: hours[:1], CostOnly: hours[1:],
		TelemetryOnly: []Metered{{"gce/p/z/n", ten, 5}, {"i-02445ff7024245edd", eleven, hourMS}},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// A machine that two agents tell of in one hour is one machine.
func TestMeteredTwiceIsOneMachine(t *testing.T) {
	ten := at("2026-09-01T10:00:00Z")
	hours, _ := hoursOfLines(t, line(nil))
	twice := []Metered{{"i-02445ff7024245edd", ten, 5}, {"gce/p/z/n", ten, 1}, {"i-02445ff7024245edd", ten, 7}, {"gce/p/z/n", ten, 2}}
	got, err := Reconcile(hours, twice)
	if diff := cmp.Diff(Reconciled{Both: hours, TelemetryOnly: []Metered{{"gce/p/z/n", ten, 3}}}, got); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
}

// Azure bills a uniform scale set under one id. Its machines share the cost by
// the time they were metered, to the last billionth.
func TestScaleSetIsShared(t *testing.T) {
	ten := at("2026-09-01T10:00:00Z")
	hours, _ := hoursOfLines(t, line(func(l *Line) { l.Instance, l.Effective, l.List = azureSet, nano("10"), ref("20") }),
		line(func(l *Line) { l.Instance, l.Part, l.Effective = azureSet, Network, nano("1") }))
	member := func(n string) Instance { return azureSet + Instance("/virtualmachines/"+n) }
	got, err := Reconcile(hours, []Metered{{member("1"), ten, hourMS}, {member("0"), ten, hourMS}, {member("2"), ten, hourMS}})
	if err != nil || len(got.Both) != 3 || len(got.CostOnly)+len(got.TelemetryOnly) != 0 {
		t.Fatalf("%v, %+v", err, got)
	}
	if h := got.Both[0]; h.Instance != member("0") || h.OfSet != azureSet || h.Effective != nano("3.333333334") || *h.List != nano("6.666666667") || h.Beside != nano("0.333333334") {
		t.Errorf("the first machine: %+v", h)
	}
	if h := got.Both[2]; h.Effective != nano("3.333333333") {
		t.Errorf("the last machine: %+v", h)
	}
	// A set whose machines nobody meters is cost without telemetry.
	if got, err := Reconcile(hours, nil); err != nil || len(got.CostOnly) != 1 {
		t.Errorf("%v, %+v", err, got)
	}
}

// Reconciling loses no money and no metered hour, and counts none twice.
func TestReconcileKeepsAll(t *testing.T) {
	instances := []Instance{"i-02445ff7024245edd", "gce/p/z/n", azureSet, azureSet + "/virtualmachines/0", azureSet + "/virtualmachines/1"}
	rapid.Check(t, func(t *rapid.T) {
		var h Hours
		var want money.Nano
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			l := drawLine(t)
			l.Category, l.SplitOf, l.Instance = Usage, "", rapid.SampledFrom(instances).Draw(t, "machine")
			if err := h.Add(&l); err != nil {
				t.Fatal(err)
			}
			want += l.Effective
		}
		hours, _, err := h.Result()
		if err != nil {
			t.Fatal(err)
		}
		metered := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) Metered {
			return Metered{rapid.SampledFrom(instances).Draw(t, "machine"),
				floorHour(at("2026-09-01T00:00:00Z")) + rapid.Int64Range(-3, 50).Draw(t, "hour")*hourMS, rapid.Int64Range(0, hourMS).Draw(t, "metered")}
		}), func(m Metered) hourKey { return hourKey{instance: m.Instance, startMS: m.StartMS} }).Draw(t, "telemetry")
		r, err := Reconcile(hours, metered)
		if err != nil {
			t.Fatal(err)
		}
		var got money.Nano
		for _, hour := range slices.Concat(r.Both, r.CostOnly) {
			got += hour.Effective + hour.Beside
			var parts money.Nano
			for _, p := range hour.Parts {
				parts += p.Effective
			}
			if parts != hour.Effective+hour.Beside {
				t.Fatalf("parts of %s sum to %s", hour.Instance, parts)
			}
		}
		if got != want {
			t.Fatalf("%s of %s is left", got, want)
		}
		seen := map[hourKey]bool{}
		for _, hour := range r.Both {
			seen[hourKey{instance: hour.Instance, startMS: hour.StartMS}] = true
		}
		for _, m := range r.TelemetryOnly {
			if k := (hourKey{instance: m.Instance, startMS: m.StartMS}); seen[k] {
				t.Fatalf("%+v is in two buckets", m)
			} else {
				seen[k] = true
			}
		}
		for _, m := range metered {
			if !seen[hourKey{instance: m.Instance, startMS: m.StartMS}] {
				t.Fatalf("%+v is lost", m)
			}
		}
	})
}
