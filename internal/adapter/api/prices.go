// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// AtQuery is the moment that a question is about.
type AtQuery struct {
	At string `query:"at" doc:"The moment: RFC 3339 or a day; left out: now." example:"2026-11-03T14:00:00Z"`
}

type nodeQuery struct {
	AtQuery
	Name    string `path:"name" maxLength:"253"`
	Cluster string `query:"cluster" doc:"Needed where nodes of several clusters have the name."`
}

func (h *handler) routePrices() {
	get(h, operation(http.MethodGet, "/nodes", "listNodes", "Nodes and what they cost", ""), h.nodes)
	get(h, operation(http.MethodGet, "/nodes/{name}/price", "getPrice", "What a node costs, and why",
		"The row that it comes from, and what every book had to say."), h.price)
	get(h, operation(http.MethodGet, "/nodes/{name}/price/comparison", "comparePrices", "A node's price under every rule of splitting it", ""), h.compare)
}

func (h *handler) nodes(ctx context.Context, q *AtQuery) (out v1.Nodes, err error) {
	at, err := h.moment(q.At)
	if err != nil {
		return out, err
	}
	nodes, err := h.Books.Nodes(ctx, at)
	if err != nil {
		return out, err
	}
	return v1.NodesOf(at, nodes), nil
}

func (h *handler) price(ctx context.Context, q *nodeQuery) (out v1.NodePrice, err error) {
	at, err := h.moment(q.At)
	if err != nil {
		return out, err
	}
	p, err := h.Books.NodePrice(ctx, q.Cluster, q.Name, at)
	if err != nil {
		return out, err
	}
	return v1.NodePriceOf(&p), nil
}

func (h *handler) compare(ctx context.Context, q *nodeQuery) (out v1.PriceComparison, err error) {
	at, err := h.moment(q.At)
	if err != nil {
		return out, err
	}
	c, err := h.Books.ComparePrices(ctx, q.Cluster, q.Name, at)
	if err != nil {
		return out, err
	}
	return v1.PriceComparisonOf(&c), nil
}
