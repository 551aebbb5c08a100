// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/usage"
)

// nodes are what the nodes of the last hours can give and who has it, by cluster and
// name, and the models of cards as drivers describe them.
func (s *Service) nodes(ctx context.Context, to time.Time) (map[[2]string]*advisor.Node, map[string]*attribution.Card, error) {
	from := to.Add(-planAt)
	machines, err := s.store.Machines(ctx, from, to, "")
	if err != nil {
		return nil, nil, fmt.Errorf("advice: %w", err)
	}
	out, cards := map[[2]string]*advisor.Node{}, map[string]*attribution.Card{}
	for i := range machines {
		m := &machines[i]
		if len(m.Shapes) == 0 {
			continue
		}
		last := &m.Shapes[len(m.Shapes)-1].NodeShape
		out[[2]string{m.Cluster, m.Node}] = nodeOf(last) // in order of time: the newest machine of a name stays
		for j := range last.Cards {
			cards[last.Cards[j].Model] = &last.Cards[j]
		}
	}
	others, err := s.store.NodeOthers(ctx, from, to)
	if err != nil {
		return nil, nil, fmt.Errorf("advice: %w", err)
	}
	for i := range others {
		if n := out[[2]string{others[i].Cluster, others[i].Node}]; n != nil {
			n.Others = &others[i].OtherPods
		}
	}
	for h, err := range s.store.Activity(ctx, activity.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}) {
		if err != nil {
			return nil, nil, fmt.Errorf("advice: %w", err)
		}
		if n := out[[2]string{h.Cluster, h.Node}]; n != nil {
			n.Add(h)
		}
	}
	return out, cards, nil
}

func nodeOf(s *usage.NodeShape) *advisor.Node {
	return &advisor.Node{GPUs: len(s.Slots), Labels: s.Labels, Taints: s.Taints, Allocatable: advice.HostShare{CPUMilli: s.AllocatableCPUMilli, MemoryBytes: s.AllocatableMemoryBytes}}
}
