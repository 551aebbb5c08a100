// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/url"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// AdviceQuery says whose advice is wanted. What is empty is no limit.
type AdviceQuery struct {
	At, Cluster, Node, Namespace string
	Workload                     string // KIND/NAME, with Namespace
	Share                        bool   // look for those who could share a GPU, too
}

// Advice asks what is advised.
func (c *Client) Advice(ctx context.Context, q AdviceQuery) (v1.Advice, error) {
	v := url.Values{}
	set(v, "at", q.At)
	set(v, "cluster", q.Cluster)
	set(v, "node", q.Node)
	set(v, "namespace", q.Namespace)
	set(v, "workload", q.Workload)
	if q.Share {
		v.Set("share", "true")
	}
	return fetch[v1.Advice](ctx, c, "/advice", v)
}

// ActivityHours asks what a workload, KIND/NAME, did hour by hour.
func (c *Client) ActivityHours(ctx context.Context, s Span, cluster, namespace, workload string) (v1.ActivityHours, error) {
	v := s.values()
	set(v, "cluster", cluster)
	set(v, "namespace", namespace)
	set(v, "workload", workload)
	return fetch[v1.ActivityHours](ctx, c, "/advice/hours", v)
}

// AdvicePlans asks which nodes could go.
func (c *Client) AdvicePlans(ctx context.Context, at, cluster string) (v1.AdvicePlans, error) {
	v := url.Values{}
	set(v, "at", at)
	set(v, "cluster", cluster)
	return fetch[v1.AdvicePlans](ctx, c, "/advice/plans", v)
}

// AdviceDecisions asks what was said to advice.
func (c *Client) AdviceDecisions(ctx context.Context) (v1.AdviceDecisions, error) {
	return fetch[v1.AdviceDecisions](ctx, c, "/advice/decisions", nil)
}

// DecideAdvice accepts or dismisses a recommendation.
func (c *Client) DecideAdvice(ctx context.Context, id string, d v1.DecideAdvice) (v1.AdviceDecision, error) {
	return post[v1.AdviceDecision](ctx, c, "/advice/"+url.PathEscape(id)+"/decision", d)
}

// VerifyAdvice compares before and after a change.
func (c *Client) VerifyAdvice(ctx context.Context, id, applied string) (v1.AdviceVerdict, error) {
	v := url.Values{}
	set(v, "applied", applied)
	return fetch[v1.AdviceVerdict](ctx, c, "/advice/"+url.PathEscape(id)+"/verification", v)
}
