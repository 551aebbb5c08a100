// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/adapter/policyfile"
	"github.com/gputally/gputally/internal/adapter/pricebook"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/pricing"
)

// replayPrices say by what a replay is priced and divided.
type replayPrices struct {
	books  []string
	list   bool
	policy policyFlags
}

func (f *replayPrices) define(p *pflag.FlagSet) {
	p.StringArrayVar(&f.books, "price-book", nil, "price book in YAML (docs/formats/pricebook.md), before the capture's own prices; the first that prices a node counts (repeatable)")
	p.BoolVar(&f.list, "list-prices", false, "the built-in list prices, after all others")
	f.policy.define(p, ", in place of the capture's own")
}

// rate makes entries of the reports where prices are given, on the command line or
// in the capture.
func (f *replayPrices) rate(c *capture.File, reports []replay.Report) error {
	books, stated, err := f.readBooks(c)
	if err != nil {
		return inputError{err}
	}
	policy, err := f.readPolicy(c)
	if err != nil {
		return inputError{err}
	}
	if len(books) == 0 {
		if f.policy.Given() || f.policy.file != "" {
			return inputError{fmt.Errorf("a policy divides money, and no price is given: add --price-book FILE or --list-prices, or prices to %s", c.Name)}
		}
		return nil
	}
	split, err := policy.SplitBy(stated)
	if err != nil {
		return inputError{err}
	}
	prices, err := pricing.New(split, books...)
	if err != nil {
		return inputError{err}
	}
	return replay.Rate(reports, prices, policy.Policy)
}

// readBooks reads the books in their order: those of the command line, the
// capture's section, the prices beside its nodes, the list. The first that says
// how prices are split decides.
func (f *replayPrices) readBooks(c *capture.File) (books []*pricing.Book, split *pricing.Policy, err error) {
	take := func(b *pricebook.File) {
		books = append(books, &b.Book)
		if split == nil {
			split = b.Policy
		}
	}
	for _, path := range f.books {
		b, err := readBookFile(path)
		if err != nil {
			return nil, nil, err
		}
		take(b)
	}
	if c.Prices != nil {
		b, err := pricebook.ReadSection(*c.Prices, c.Name, "prices")
		if err != nil {
			return nil, nil, err
		}
		take(b)
	}
	beside, err := c.Book()
	if err != nil {
		return nil, nil, err
	}
	if beside != nil {
		books = append(books, beside)
	}
	if f.list {
		list, err := listprices.Book()
		if err != nil {
			return nil, nil, err
		}
		books = append(books, list)
	}
	return books, split, nil
}

func readBookFile(path string) (*pricebook.File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read price book: %w", err)
	}
	defer file.Close()
	return pricebook.Read(file, path)
}

// readPolicy is the policy of the file that is named, else of the capture, with
// the flags over it.
func (f *replayPrices) readPolicy(c *capture.File) (policyfile.File, error) {
	var file policyfile.File
	switch {
	case f.policy.file != "":
		read, err := policyfile.ReadFile(f.policy.file)
		if err != nil {
			return file, err
		}
		file = *read
	case c.Policy != nil:
		read, err := policyfile.ReadSection(*c.Policy, c.Name, "policy")
		if err != nil {
			return file, err
		}
		file = *read
	}
	return f.policy.Over(file)
}
