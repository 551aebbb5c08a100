// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/adapter/policyfile"
	"github.com/gputally/gputally/internal/adapter/pricebook"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// priceLoader reads price books and the policy, and again when a file changes.
type priceLoader struct {
	flags *priceFlags

	mu     sync.Mutex
	texts  map[string][]byte
	loaded billing.Loaded
	list   *pricing.Book
}

// Load reads what changed. What it returned before stays as it was.
func (p *priceLoader) Load() (billing.Loaded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	texts, err := p.read()
	if err != nil {
		return billing.Loaded{}, err
	}
	if p.texts != nil && same(texts, p.texts) {
		return p.loaded, nil
	}
	l, err := p.parse(texts)
	if err != nil {
		return billing.Loaded{}, err
	}
	p.texts, p.loaded = texts, l
	return l, nil
}

func same(a, b map[string][]byte) bool {
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			return false
		}
	}
	return len(a) == len(b)
}

// read reads all files.
func (p *priceLoader) read() (map[string][]byte, error) {
	out := map[string][]byte{}
	var errs []error
	take := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, err)
		}
		out[path] = text
	}
	for _, path := range p.flags.books {
		take(path)
	}
	for _, arg := range p.flags.openCost {
		_, path, ok := strings.Cut(arg, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("--opencost-csv is %q: write CURRENCY=FILE, such as USD=prices.csv; the file names no currency", arg))
			continue
		}
		take(path)
	}
	if p.flags.policy.file != "" {
		take(p.flags.policy.file)
	}
	return out, errors.Join(errs...)
}

func (p *priceLoader) parse(texts map[string][]byte) (billing.Loaded, error) {
	l := billing.Loaded{Files: texts, Split: pricing.DefaultPolicy()}
	stated, err := p.parseBooks(texts, &l)
	if err != nil {
		return l, err
	}
	var file policyfile.File
	if path := p.flags.policy.file; path != "" {
		read, err := policyfile.Read(bytes.NewReader(texts[path]), path)
		if err != nil {
			return l, err
		}
		file = *read
	}
	if file, err = p.flags.policy.Over(file); err != nil {
		return l, err
	}
	l.Policy = file.Policy
	if stated != nil {
		l.Split = *stated
	}
	if file.Split != "" {
		l.Split.Rule = file.Split
	}
	if err := l.Split.Check(); err != nil {
		return l, err
	}
	// The books are looked at as a whole once, to find what contradicts itself.
	if _, err := pricing.New(l.Split, l.Books...); err != nil {
		return l, err
	}
	l.Revision, err = revisionOf(&l)
	return l, err
}

// parseBooks reads the books in their order: price books, OpenCost's, the list.
// The first book that says how prices are split decides.
func (p *priceLoader) parseBooks(texts map[string][]byte, l *billing.Loaded) (split *pricing.Policy, err error) {
	for _, path := range p.flags.books {
		f, err := pricebook.Read(bytes.NewReader(texts[path]), path)
		if err != nil {
			return nil, err
		}
		l.Books = append(l.Books, &f.Book)
		if split == nil {
			split = f.Policy
		}
	}
	for _, arg := range p.flags.openCost {
		code, path, _ := strings.Cut(arg, "=")
		currency := money.Currency(code)
		if err := currency.Check(); err != nil {
			return nil, fmt.Errorf("--opencost-csv %s: %w", arg, err)
		}
		f, err := pricebook.ReadOpenCost(bytes.NewReader(texts[path]), path, currency)
		if err != nil {
			return nil, err
		}
		l.Books = append(l.Books, &f.Book)
	}
	if p.flags.noList {
		return split, nil
	}
	if p.list == nil {
		if p.list, err = listprices.Book(); err != nil {
			return nil, err
		}
	}
	l.Books = append(l.Books, p.list)
	return split, nil
}

// revisionOf names the state of books and policies.
func revisionOf(l *billing.Loaded) (string, error) {
	h := sha256.New()
	for _, b := range l.Books {
		fmt.Fprintf(h, "%s %s\n", b.Name, b.Revision)
	}
	if err := json.NewEncoder(h).Encode([]any{l.Policy, l.Split}); err != nil {
		return "", fmt.Errorf("name the state of prices: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
