// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

func TestMachinesOf(t *testing.T) {
	small, large := &usage.NodeShape{CPUMilli: 1000}, &usage.NodeShape{CPUMilli: 2000}
	batches := []usage.Batch{
		{Node: "n", ProviderID: "a", StartMS: 60, DurationMS: 60, IntervalMS: 5, Shape: small},
		{Node: "n", ProviderID: "a", StartMS: 0, DurationMS: 60, IntervalMS: 9, Shape: small},
		{Node: "n", ProviderID: "a", StartMS: 120, DurationMS: 30, IntervalMS: 7, Shape: large},
		{Node: "n", ProviderID: "b", StartMS: 200, DurationMS: 10, IntervalMS: 1},
		{Node: "m", StartMS: 500, DurationMS: 10},
		{Cluster: "c", Node: "a", StartMS: 1, DurationMS: 1},
	}
	want := []Machine{
		{Node: "m", FirstMS: 500, LastMS: 510},
		{Node: "n", ProviderID: "a", FirstMS: 0, LastMS: 150, IntervalMS: 7, Shapes: []ShapeAt{{0, *small}, {120, *large}}},
		{Node: "n", ProviderID: "b", FirstMS: 200, LastMS: 210, IntervalMS: 1},
		{Cluster: "c", Node: "a", FirstMS: 1, LastMS: 2},
	}
	if diff := cmp.Diff(want, MachinesOf(batches)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	slices.Reverse(batches)
	if diff := cmp.Diff(want, MachinesOf(batches)); diff != "" {
		t.Errorf("backwards, -want +got:\n%s", diff)
	}
}
