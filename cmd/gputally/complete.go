// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/core/report"
)

// completion is what a shell asks for.
type completion = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// fromServer completes with what a server answers quickly, and with nothing where
// it does not.
func (a *ask) fromServer(f func(context.Context, *client.Client) []string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		c, err := a.client()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return f(ctx, c), cobra.ShellCompDirectiveNoFileComp
	}
}

// months completes months that have lines.
func (a *ask) months() completion {
	return a.fromServer(func(ctx context.Context, c *client.Client) (out []string) {
		months, err := c.Months(ctx)
		if err != nil {
			return nil
		}
		for _, m := range months.Months {
			out = append(out, m.Month+"\t"+m.State)
		}
		return out
	})
}

// nodes completes the names of nodes.
func (a *ask) nodes() completion {
	return a.fromServer(func(ctx context.Context, c *client.Client) (out []string) {
		nodes, err := c.Nodes(ctx, "")
		if err != nil {
			return nil
		}
		for _, n := range nodes.Nodes {
			out = append(out, n.Name+"\t"+n.InstanceType)
		}
		return out
	})
}

// dimensionList completes the last word of a list of dimensions; end follows it.
func (a *ask) dimensionList(end string) completion {
	return func(_ *cobra.Command, _ []string, typed string) (out []string, _ cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		for _, d := range report.Dimensions() {
			out = append(out, before+string(d)+end)
		}
		labels, _ := a.fromServer(func(ctx context.Context, c *client.Client) []string {
			d, err := c.Dimensions(ctx)
			if err != nil {
				return nil
			}
			return d.Labels
		})(nil, nil, "")
		for _, key := range labels {
			out = append(out, before+labelMark+key+end)
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}

// complete sets what completes a flag.
func complete(c *cobra.Command, flag string, f completion) {
	_ = c.RegisterFlagCompletionFunc(flag, f)
}
