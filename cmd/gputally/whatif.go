// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/api/reportview"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/adapter/policyfile"
	"github.com/gputally/gputally/internal/core/pricing"
)

// whatIfFlags are the flags of gputally whatif.
type whatIfFlags struct {
	ask
	span     spanFlags
	out      output
	by       []string
	where    []string
	view     string
	top      int
	variants []string
}

func newWhatIf() *cobra.Command {
	var f whatIfFlags
	c := &cobra.Command{
		Use:   "whatif --variant TEXT…",
		Short: "Show a report as other rules would have it, side by side",
		Long: `Whatif divides the stored hours of a time again by other rules and sets that beside
what was booked. Nothing is changed.

A variant is words in one text: a basis (held, memory, reserved); turns-reserve;
ACCOUNT=HOW for a platform account that is passed on (idle=proportional,
overhead=even, host=owner:infra); scope=node or scope=given; a rule by which a node's
price is split (aws-scad, opencost, residual, fixed-ratio, gpu-rate, all-gpu);
name=NAME. What it does not say is as it is in force.`,
		Example: `  gputally whatif --month 2026-11 --variant memory --variant reserved
  gputally whatif --since 7d --by team --variant "held idle=proportional" --view distributed
  gputally whatif --since 7d --by resource --variant aws-scad --variant all-gpu
  gputally whatif --since 7d --variant "name=strict reserved turns-reserve"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runWhatIf(c, &f) },
	}
	f.ask.define(c.Flags())
	f.span.define(c, " (default 7d)")
	f.out.define(c, "table", "json")
	p := c.Flags()
	p.StringSliceVar(&f.by, "by", []string{"namespace"}, "what rows are told apart by, as for report")
	p.StringArrayVar(&f.where, "where", nil, "only charges with DIMENSION=VALUE,…, as for report")
	p.StringVar(&f.view, "view", "apart", "apart or distributed, as for report")
	p.IntVar(&f.top, "top", 0, "keep so many rows of workloads (0: all)")
	p.StringArrayVar(&f.variants, "variant", nil, "another way to divide cost (repeatable, at most 8)")
	complete(c, "by", f.dimensionList(""))
	complete(c, "where", f.dimensionList("="))
	complete(c, "month", f.months())
	complete(c, "variant", cobra.FixedCompletions([]string{"held", "memory", "reserved", "aws-scad", "opencost", "residual", "fixed-ratio", "gpu-rate", "all-gpu"}, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// variant is one --variant.
type variant struct {
	name  string
	flags policyfile.Flags
}

// parseVariant reads the words of a variant.
func parseVariant(text string) (v variant, err error) {
	for _, word := range strings.Fields(text) {
		key, value, assigned := strings.Cut(word, "=")
		switch {
		case key == "name" && assigned:
			v.name = value
		case key == "scope" && assigned:
			v.flags.Scope = value
		case assigned:
			v.flags.Distribute = append(v.flags.Distribute, word)
		case word == "turns-reserve":
			v.flags.TurnsReserve = true
		case slices.Contains([]string{"held", "memory", "reserved"}, word):
			v.flags.Basis = word
		case slices.Contains(pricing.Rules(), pricing.Rule(word)):
			v.flags.Split = word
		default:
			return v, inputError{fmt.Errorf("--variant %q: %q is no basis (held, memory, reserved), no rule of splitting a price (%s), and no ACCOUNT=HOW", text, word, rules())}
		}
	}
	if !v.flags.Given() {
		return v, inputError{fmt.Errorf("--variant is %q; say what is to be otherwise, such as --variant memory", text)}
	}
	if v.name == "" {
		v.name = strings.Join(strings.Fields(text), " ")
	}
	return v, nil
}

func rules() string {
	var out []string
	for _, r := range pricing.Rules() {
		out = append(out, string(r))
	}
	return strings.Join(out, ", ")
}

// over is the variant as it is sent: what it does not say is as the policy has it.
func (v *variant) over(inForce *v1.Policy) (out v1.Variant, err error) {
	out = v1.Variant{Name: v.name, Split: v.flags.Split}
	policy := v.flags
	policy.Split = ""
	if !policy.Given() {
		return out, nil
	}
	f, err := policy.Over(policyfile.File{Policy: inForce.Core()})
	if err != nil {
		return out, inputError{fmt.Errorf("--variant %q: %w", v.name, err)}
	}
	f.Policy.ID = ""
	p := v1.PolicyOf(&f.Policy)
	out.Policy = &p
	return out, nil
}

func (f *whatIfFlags) request(c *cobra.Command) (r v1.WhatIfRequest, variants []variant, err error) {
	if err := errors.Join(f.out.check(), oneOf("view", f.view, "apart", "distributed")); err != nil {
		return r, nil, err
	}
	if len(f.variants) == 0 {
		return r, nil, inputError{errors.New("give at least one --variant, such as --variant memory; see gputally whatif --help")}
	}
	for _, text := range f.variants {
		v, err := parseVariant(text)
		if err != nil {
			return r, nil, err
		}
		variants = append(variants, v)
	}
	s, err := f.span.span("7d", time.Now())
	if err != nil {
		return r, nil, err
	}
	r.Report = v1.ReportRequest{Month: s.Month, View: f.view, Top: f.top}
	if r.Report.From, r.Report.To, err = moments(s.From, s.To); err != nil {
		return r, nil, err
	}
	if r.Report.By, err = dimensions(f.by, c.ErrOrStderr()); err != nil {
		return r, nil, err
	}
	where, err := filters(f.where, c.ErrOrStderr())
	if err != nil {
		return r, nil, err
	}
	r.Report.Where, err = v1.ParseFilters(where)
	return r, variants, err
}

func runWhatIf(c *cobra.Command, f *whatIfFlags) error {
	r, variants, err := f.request(c)
	if err != nil {
		return err
	}
	p := progressOf(c)
	return f.run(func(ctx context.Context, server *client.Client) error {
		s, err := server.Status(ctx)
		if err != nil {
			return err
		}
		for _, v := range variants {
			out, err := v.over(&s.Policy)
			if err != nil {
				return err
			}
			r.Variants = append(r.Variants, out)
		}
		w, err := server.WhatIf(ctx, r, p.step)
		p.done()
		if err != nil {
			return err
		}
		return f.out.print(c.OutOrStdout(), w, func() string { return reportview.WhatIf(&w) })
	})
}

// moments reads --from and --to; the end is now where it is left out.
func moments(from, to string) (a, b time.Time, err error) {
	if from == "" {
		return a, b, nil
	}
	if a, err = dayOrTime("--from", from); err != nil {
		return a, b, err
	}
	if to == "" {
		return a, time.Now().UTC().Truncate(time.Hour).Add(time.Hour), nil
	}
	b, err = dayOrTime("--to", to)
	return a, b, err
}

func dayOrTime(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, inputError{fmt.Errorf("%s is %q; write a time as 2026-11-03T14:00:00Z, or a day as 2026-11-03", flag, text)}
}
