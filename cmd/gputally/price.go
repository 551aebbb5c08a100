// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	"github.com/gputally/gputally/internal/core/pricing"
)

func newPrice() *cobra.Command {
	c := &cobra.Command{
		Use:   "price",
		Short: "Show what nodes cost, and check the prices",
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newPriceList(), newPriceShow(), newPriceCompare(), newPriceCheck())
	return c
}

// priceQuery are the flags of the commands about one node or all.
type priceQuery struct {
	ask
	out         output
	cluster, at string
}

func (f *priceQuery) define(c *cobra.Command, node bool) {
	f.ask.define(c.Flags())
	f.out.define(c, "table", "json")
	c.Flags().StringVar(&f.at, "at", "", "the moment: 2026-11-03T14:00:00Z or 2026-11-03, in UTC (default: now)")
	if node {
		c.Flags().StringVar(&f.cluster, "cluster", "", "cluster of the node, where several have one of the name")
		c.ValidArgsFunction = f.nodes()
	}
}

func newPriceList() *cobra.Command {
	var f priceQuery
	c := &cobra.Command{
		Use:   "list",
		Short: "List nodes and what an hour of each costs",
		Example: `  gputally price list
  gputally price list --at 2026-11-03`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.out.check(); err != nil {
				return err
			}
			return f.run(func(ctx context.Context, server *client.Client) error {
				n, err := server.Nodes(ctx, f.at)
				if err != nil {
					return err
				}
				return f.out.print(c.OutOrStdout(), n, func() string { return reportview.Nodes(&n) })
			})
		},
	}
	f.define(c, false)
	return c
}

func newPriceShow() *cobra.Command {
	var f priceQuery
	c := &cobra.Command{
		Use:   "show NODE",
		Short: "Show what a node costs, from which row, and what every book said",
		Example: `  gputally price show gpu-node-1
  gputally price show gpu-node-1 --at 2026-11-03T14:00:00Z --cluster prod`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.out.check(); err != nil {
				return err
			}
			return f.run(func(ctx context.Context, server *client.Client) error {
				p, err := server.NodePrice(ctx, f.cluster, args[0], f.at)
				if err != nil {
					return err
				}
				return f.out.print(c.OutOrStdout(), p, func() string { return reportview.NodePrice(&p) })
			})
		},
	}
	f.define(c, true)
	return c
}

func newPriceCompare() *cobra.Command {
	var f priceQuery
	c := &cobra.Command{
		Use:   "compare NODE",
		Short: "Split a node's price by every rule, side by side",
		Long: `Compare splits the price of an hour of a node into GPUs, CPU and memory by every
rule there is. The choice of the rule moves the part of the GPUs from a quarter to
nearly all, so look before you choose (docs/pricing.md).`,
		Example: `  gputally price compare gpu-node-1`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.out.check(); err != nil {
				return err
			}
			return f.run(func(ctx context.Context, server *client.Client) error {
				p, err := server.ComparePrices(ctx, f.cluster, args[0], f.at)
				if err != nil {
					return err
				}
				return f.out.print(c.OutOrStdout(), p, func() string { return reportview.PriceComparison(&p) })
			})
		},
	}
	f.define(c, true)
	return c
}

func newPriceCheck() *cobra.Command {
	var a ask
	var out output
	var span spanFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Find nodes without a price, guessed prices and doubtful rows",
		Long: `Check looks at the hours of nodes as last rated, and at the books in force: hours
without a price, nodes priced by something less exact than a row of their own, rows
whose price is absurd, contradicts itself or is out of date.

It ends with exit code 1 where hours have no price, or a row is doubtful that
prices something, or for more than its age. -o json lists every row.`,
		Example: `  gputally price check
  gputally price check --month 2026-11 -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := out.check(); err != nil {
				return err
			}
			s, err := span.span("7d", time.Now())
			if err != nil {
				return err
			}
			return a.run(func(ctx context.Context, server *client.Client) error { return priceCheck(ctx, c, server, s, &out) })
		},
	}
	a.define(c.Flags())
	span.define(c, " (default 7d)")
	out.define(c, "table", "json")
	complete(c, "month", a.months())
	return c
}

func priceCheck(ctx context.Context, c *cobra.Command, server *client.Client, s client.Span, out *output) error {
	p, err := server.CheckPrices(ctx, s)
	if err != nil {
		return err
	}
	if err := out.print(c.OutOrStdout(), p, func() string { return reportview.PriceCheck(&p) }); err != nil {
		return err
	}
	if n := len(p.Unpriced); n > 0 {
		return fmt.Errorf("price check: %d nodes have hours without a price", n)
	}
	used := 0
	for _, d := range p.Doubts {
		if d.Hours > 0 || d.Doubt != string(pricing.DoubtOld) {
			used++
		}
	}
	if used > 0 {
		return fmt.Errorf("price check: %d rows are doubtful", used)
	}
	return nil
}
