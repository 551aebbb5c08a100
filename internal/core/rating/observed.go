// SPDX-License-Identifier: Apache-2.0

package rating

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/usage"
)

// MachinesOf is the machines that batches tell of, as a store that has these
// batches and no others would: for records that are in no store, such as those of
// a replay. The batches may come in any order.
func MachinesOf(batches []usage.Batch) []Machine {
	type name struct{ cluster, node, id string }
	at := map[name]int{}
	var out []Machine
	ends := map[name]int64{} // of the window that Interval is of
	for i := range batches {
		b := &batches[i]
		k := name{b.Cluster, b.Node, b.ProviderID}
		n, known := at[k]
		if !known {
			n = len(out)
			at[k] = n
			out = append(out, Machine{Cluster: b.Cluster, Node: b.Node, ProviderID: b.ProviderID, FirstMS: b.StartMS, LastMS: b.StartMS + b.DurationMS})
		}
		m, end := &out[n], b.StartMS+b.DurationMS
		m.FirstMS, m.LastMS = min(m.FirstMS, b.StartMS), max(m.LastMS, end)
		if end > ends[k] || end == ends[k] && b.IntervalMS > m.IntervalMS {
			m.IntervalMS, ends[k] = b.IntervalMS, end
		}
		if b.Shape != nil {
			m.Shapes = append(m.Shapes, ShapeAt{FromMS: b.StartMS, NodeShape: *b.Shape})
			m.CreatedMS = earlier(m.CreatedMS, b.Shape.CreatedMS)
		}
	}
	for i := range out {
		s := out[i].Shapes
		slices.SortStableFunc(s, func(a, b ShapeAt) int { return cmp.Compare(a.FromMS, b.FromMS) })
		out[i].Shapes = slices.CompactFunc(s, func(a, b ShapeAt) bool { return reflect.DeepEqual(a.NodeShape, b.NodeShape) })
	}
	slices.SortFunc(out, func(a, b Machine) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Node, b.Node), cmp.Compare(a.FirstMS, b.FirstMS), strings.Compare(a.ProviderID, b.ProviderID))
	})
	return out
}
