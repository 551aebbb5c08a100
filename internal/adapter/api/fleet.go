// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
)

type fleetQuery struct {
	Since uint64 `query:"since" doc:"The revision of an earlier answer: only nodes that changed since come. Left out: all."`
}

// MomentSpan is a time to the moment, not in whole hours.
type MomentSpan struct {
	From string `query:"from" doc:"The beginning: RFC 3339, or a day. Left out: a day before to." example:"2026-11-03T14:00:00Z"`
	To   string `query:"to" doc:"The end: RFC 3339, or a day. Left out: now." example:"2026-11-03T16:30:00Z"`
}

type timelineQuery struct {
	MomentSpan
	UUID string `path:"uuid" maxLength:"253" example:"GPU-8f6d7d2b-1f4f-4e0a-9d5c-0f1e2d3c4b5a"`
	Node string `query:"node" maxLength:"253" doc:"The node that the GPU is or was in; left out: where it was seen last."`
}

type findingsQuery struct {
	MomentSpan
	Node string `query:"node" maxLength:"253" doc:"Only of this node."`
	Cost bool   `query:"cost" doc:"With what each has cost so far, where the ledger can tell."`
}

// The longest times that are read for one answer: a timeline reads the records of
// one node, findings those of all.
const (
	longestTimeline = 100 * 24 * time.Hour
	longestFindings = 31 * 24 * time.Hour
)

func (h *handler) routeFleet() {
	get(h, operation(http.MethodGet, "/fleet", "getFleet", "What is on the GPUs now",
		"Every node by its newest record: GPUs, partitions, who holds what, signals, findings. A node that is not heard of any more stays for a day, with the time of its last record."), h.fleet)
	get(h, operation(http.MethodGet, "/gpus/{uuid}/timeline", "getTimeline", "Who had a GPU when",
		"Memory by holder, signals, grants, events and gaps of one GPU, in steps of a minute or of more where the time is long (step_ms).", heavy), h.timeline)
	get(h, operation(http.MethodGet, "/findings", "listFindings", "Findings over a time",
		"What was not as it should be, with its evidence: joined over the windows that have it; what stands comes first.", heavy), h.findings)
}

// known is the board, or why there is none.
func (h *handler) known() (Fleet, error) {
	if h.Fleet == nil {
		return nil, &inquiry.Refused{Code: "fleet_off", Why: "this server keeps no picture of the fleet", Hint: "ask the server that agents deliver to"}
	}
	return h.Fleet, nil
}

func (h *handler) fleet(_ context.Context, q *fleetQuery) (out v1.Fleet, err error) {
	board, err := h.known()
	if err != nil {
		return out, err
	}
	nodes, revision, full := board.Fleet(q.Since)
	out = v1.Fleet{Now: h.Now().UTC(), Revision: revision, Full: full, Nodes: nodes}
	if !full {
		out.Gone = board.Gone(q.Since)
	}
	return out, nil
}

func (h *handler) timeline(ctx context.Context, q *timelineQuery) (out v1.Timeline, err error) {
	board, err := h.known()
	if err != nil {
		return out, err
	}
	from, to, err := q.read(h.Now(), longestTimeline)
	if err != nil {
		return out, err
	}
	return board.Timeline(ctx, gpu.UUID(q.UUID), q.Node, from, to)
}

func (h *handler) findings(ctx context.Context, q *findingsQuery) (out v1.Findings, err error) {
	board, err := h.known()
	if err != nil {
		return out, err
	}
	from, to, err := q.read(h.Now(), longestFindings)
	if err != nil {
		return out, err
	}
	list, err := board.Findings(ctx, q.Node, from, to)
	if err != nil {
		return out, err
	}
	out = v1.Findings{From: time.UnixMilli(from).UTC(), To: time.UnixMilli(to).UTC(), Findings: make([]v1.Finding, len(list))}
	for i := range list {
		out.Findings[i].StoodFinding = list[i]
	}
	if q.Cost {
		err = h.findingCosts(ctx, out.Findings)
	}
	return out, err
}

// read gives the time as moments.
func (s *MomentSpan) read(now time.Time, longest time.Duration) (from, to int64, err error) {
	to = now.UnixMilli()
	if s.To != "" {
		if to, err = parseMoment("to", s.To); err != nil {
			return 0, 0, err
		}
	}
	from = to - 24*hourMS
	if s.From != "" {
		if from, err = parseMoment("from", s.From); err != nil {
			return 0, 0, err
		}
	}
	switch {
	case from >= to:
		return 0, 0, invalid(v1.FieldError{Field: "from", Value: s.From, Detail: "it is not before to, " + clock(to)})
	case to-from > longest.Milliseconds():
		return 0, 0, invalid(v1.FieldError{Field: "from", Value: s.From, Detail: "the time is longer than " + days(longest) + " days: ask for a shorter one"})
	}
	return from, to, nil
}
