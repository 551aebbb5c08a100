// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/policyfile"
)

// policyFlags say by which policy money is divided: a file, and flags over it.
type policyFlags struct {
	file string
	policyfile.Flags
}

// define sets the flags. fileUsage is what is special about the file.
func (f *policyFlags) define(p *pflag.FlagSet, fileUsage string) {
	p.StringVar(&f.file, "policy-file", "", "policy in YAML (docs/formats/policy.md)"+fileUsage)
	p.StringVar(&f.Basis, "policy", "", policyfile.BasisUsage)
	p.BoolVar(&f.TurnsReserve, "turns-reserve", false, policyfile.TurnsReserveUsage)
	p.StringArrayVar(&f.Distribute, "distribute", nil, policyfile.DistributeUsage)
	p.StringVar(&f.Scope, "distribute-scope", "", policyfile.ScopeUsage)
	p.StringVar(&f.Split, "split", "", policyfile.SplitUsage)
}
