// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"cmp"
	"fmt"
	"math/big"
	"path"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// section is the value of a field that others read.
func section(n *node) *strictyaml.Value {
	if n == nil {
		return nil
	}
	v := valueOf(n)
	return &v
}

func valueOf(n *node) strictyaml.Value {
	out := strictyaml.Value{Line: n.line, Text: n.text}
	switch n.shape {
	case shapeBool, shapeNumber, shapeText:
		out.Shape = strictyaml.Scalar
	case shapeList:
		out.Shape = strictyaml.List
		for _, item := range n.items {
			out.Items = append(out.Items, valueOf(item))
		}
	case shapeObject:
		out.Shape = strictyaml.Mapping
		for _, f := range n.fields {
			out.Fields = append(out.Fields, strictyaml.Field{Key: f.key, Line: f.line, Value: valueOf(f.value)})
		}
	}
	return out
}

// defaultCurrency is that of prices that name none.
const defaultCurrency = money.Currency("USD")

// Book is the prices that stand with the nodes and their GPUs, as a price book;
// nil where there are none.
func (f *File) Book() (*pricing.Book, error) {
	b := &pricing.Book{Name: path.Base(f.Name), Grade: pricing.Listed}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		row, err := n.row()
		if err != nil {
			return nil, &Error{File: f.Name, Line: n.line, Field: fmt.Sprintf("nodes[%d]", i), Msg: err.Error()}
		}
		if row != nil {
			b.Rows = append(b.Rows, *row)
		}
	}
	if len(b.Rows) == 0 {
		return nil, nil
	}
	return b, nil
}

// row is the price of a node: its own, or that of each of its GPUs, which covers
// the host, or both.
func (n *Node) row() (*pricing.Row, error) {
	r := &pricing.Row{ID: n.Name, Selector: pricing.Selector{Node: n.Name}, Currency: money.Currency(n.Price.Currency)}
	each, err := n.each(&r.Currency)
	if err != nil {
		return nil, err
	}
	if r.Price.Node, err = amountOf("price_per_hour", n.Price.PerHour); err != nil {
		return nil, err
	}
	if r.Price.GPU, err = amountOf("gpus: price_per_hour", each); err != nil {
		return nil, err
	}
	if r.Price.Node == nil && r.Price.GPU == nil {
		return nil, nil
	}
	r.Price.HostIncluded = r.Price.Node == nil
	r.Currency = cmp.Or(r.Currency, defaultCurrency)
	milli, err := scaled("vcpu", n.Price.VCPU, 1000)
	if err != nil {
		return nil, err
	}
	bytes, err := scaled("memory_gib", n.Price.MemoryGiB, 1<<30)
	if err != nil {
		return nil, err
	}
	r.Shape = pricing.Shape{CPUMilli: milli, MemoryBytes: uint64(bytes)}
	return r, r.Check()
}

// each is the one price of the node's GPUs, empty where they have none.
func (n *Node) each(currency *money.Currency) (string, error) {
	price, differ := "", false
	for i, g := range n.GPUs {
		differ = differ || i > 0 && g.Price.PerHour != price
		price = g.Price.PerHour
		if c := money.Currency(g.Price.Currency); c != "" {
			if *currency != "" && *currency != c {
				return "", fmt.Errorf("has prices in %s and %s, which cannot be added", *currency, c)
			}
			*currency = c
		}
	}
	if differ {
		return "", fmt.Errorf("has GPUs with different prices; write them into a prices section, as rows by model")
	}
	return price, nil
}

func amountOf(field, text string) (*money.Nano, error) {
	if text == "" {
		return nil, nil
	}
	n, err := money.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return &n, nil
}

// scaled is a decimal number times a whole one, rounded down; 0 where there is
// none.
func scaled(field, text string, by int64) (int64, error) {
	n, err := amountOf(field, text)
	if n == nil || err != nil {
		return 0, err
	}
	whole := new(big.Int).Mul(big.NewInt(int64(*n)), big.NewInt(by))
	if whole.Quo(whole, big.NewInt(int64(money.Unit))); whole.Sign() < 0 || !whole.IsInt64() {
		return 0, fmt.Errorf("%s is %s, which no node has", field, text)
	}
	return whole.Int64(), nil
}
