// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// openCostColumns are the columns of the CSV in the order in which a file
// without a header has them.
var openCostColumns = []string{"EndTimestamp", "InstanceID", "Region", "AssetClass", "InstanceIDField", "InstanceType", "MarketPriceHourly", "Version"}

// maxCombined bounds the rows that node prices × GPU prices become.
const maxCombined = 100_000

// OpenCost is what came of a CSV of OpenCost or Kubecost.
type OpenCost struct {
	Book pricing.Book
	// Skipped counts the lines that are not about nodes: volumes.
	Skipped int
}

// ReadOpenCost reads the CSV of prices of OpenCost and Kubecost as rows of a
// book. The file names no currency, so the caller does.
//
// A line of class node is the price of a node, or, where a line of class gpu
// names its GPUs, the price of its host: OpenCost adds the GPUs' prices to it,
// and so do these rows. Prices finer than a billionth are rounded once. Where
// OpenCost prices a node that no line names by the mean of its instance type,
// the rows do so only if all lines of the type have one price: a mean of
// different prices is nobody's price.
func ReadOpenCost(r io.Reader, name string, currency money.Currency) (*OpenCost, error) {
	if err := currency.Check(); err != nil {
		return nil, &Error{File: name, Msg: err.Error()}
	}
	text, err := readAll(r, name)
	if err != nil {
		return nil, err
	}
	c := &openCost{Mistakes: strictyaml.Mistakes{File: name}, currency: currency}
	c.read(text)
	out := &OpenCost{Skipped: c.skipped, Book: pricing.Book{Name: path.Base(name), Revision: revision(text), Grade: pricing.Listed}}
	if len(c.nodes)*(len(c.gpus)+1) > maxCombined {
		c.Add(0, "", "has %d node prices and %d GPU prices: together more than %d; write a price book instead", len(c.nodes), len(c.gpus), maxCombined)
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	out.Book.Rows = c.rows()
	return out, nil
}

// openCost is a CSV while it is read.
type openCost struct {
	strictyaml.Mistakes
	currency    money.Currency
	columns     []string // of the file, in order
	nodes, gpus []assetPrice
	skipped     int
}

// assetPrice is one line.
type assetPrice struct {
	line         int
	selector     pricing.Selector
	instanceType string // as the line says, beside what selects it
	hourly       money.Nano
}

func (c *openCost) read(text []byte) {
	in := csv.NewReader(bytes.NewReader(text))
	in.Comment, in.FieldsPerRecord, in.ReuseRecord = '#', -1, true
	for {
		record, err := in.Read()
		var bad *csv.ParseError
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.As(err, &bad):
			c.Add(bad.Line, "", "this is not valid CSV: %v", bad.Err)
			return
		case err != nil:
			c.Add(0, "", "%v", err)
			return
		}
		line, _ := in.FieldPos(0)
		if c.columns == nil && c.header(line, record) {
			continue
		}
		c.line(line, record)
	}
}

// header takes the first line as names of columns if it is one.
func (c *openCost) header(line int, record []string) bool {
	c.columns = openCostColumns
	if !slices.ContainsFunc(record, func(s string) bool {
		return strings.TrimPrefix(s, "\ufeff") == openCostColumns[0] || s == "MarketPriceHourly"
	}) {
		return false
	}
	c.columns = nil
	for _, name := range record {
		name = strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))
		if !slices.Contains(openCostColumns, name) || slices.Contains(c.columns, name) {
			c.Add(line, name, "is no column of this format, or is there twice; there are %s", strings.Join(openCostColumns, ", "))
		}
		c.columns = append(c.columns, name)
	}
	return true
}

func (c *openCost) line(line int, record []string) {
	if len(record) != len(c.columns) {
		c.Add(line, "", "has %d fields, and the file has %d columns", len(record), len(c.columns))
		return
	}
	fields := make(map[string]string, len(record))
	for i, name := range c.columns {
		fields[name] = strings.TrimSpace(record[i])
	}
	class := strings.ToLower(fields["AssetClass"])
	switch class {
	case "pv":
		c.skipped++
		return
	case "node", "gpu", "":
	default:
		c.Add(line, "AssetClass", "%q: there are node, gpu and pv", fields["AssetClass"])
		return
	}
	p := assetPrice{line: line, instanceType: fields["InstanceType"]}
	var err error
	if p.hourly, err = pricing.ParseRate(fields["MarketPriceHourly"]); err != nil {
		c.Add(line, "MarketPriceHourly", "%v", err)
		return
	}
	if p.selector, err = selectorOf(fields["InstanceIDField"], fields["InstanceID"], class); err != nil {
		c.Add(line, "InstanceIDField", "%v", err)
		return
	}
	p.selector.Region = fields["Region"]
	if class == "gpu" {
		c.gpus = append(c.gpus, p)
		return
	}
	c.nodes = append(c.nodes, p)
}

// selectorOf is what a field of a node and its value choose. GPU classes name
// the label alone.
func selectorOf(field, value, class string) (s pricing.Selector, err error) {
	label, isLabel := strings.CutPrefix(field, "metadata.labels.")
	if class == "gpu" {
		label, isLabel = strings.TrimPrefix(field, "metadata.labels."), true
	}
	switch {
	case value == "" || label == "":
		return s, fmt.Errorf("%q = %q chooses no node: give a field and its value", field, value)
	case field == "spec.providerID":
		s.ProviderID = strings.TrimPrefix(value, "azure://")
	case field == "metadata.name":
		s.Node = value
	case isLabel && (label == "node.kubernetes.io/instance-type" || label == "beta.kubernetes.io/instance-type"):
		s.InstanceType = value
	case isLabel:
		s.Labels = map[string]string{label: value}
	default:
		return s, fmt.Errorf("%q cannot choose a node here: use spec.providerID, metadata.name or metadata.labels.NAME", field)
	}
	return s, nil
}

// rows are the lines as rows: for each node price first those with GPUs of each
// class, then that without; at last one for each type with a single price.
func (c *openCost) rows() (out []pricing.Row) {
	for _, n := range append(c.nodes, c.types()...) {
		for _, g := range c.gpus {
			if g.selector.Region != "" && n.selector.Region != "" && !strings.EqualFold(g.selector.Region, n.selector.Region) {
				continue
			}
			out = append(out, c.withGPUs(n, g))
		}
		hourly := n.hourly
		out = append(out, pricing.Row{ID: id(n), Selector: n.selector, Currency: c.currency, Price: pricing.Price{Node: &hourly}})
	}
	return out
}

func id(p assetPrice) string {
	if p.line == 0 {
		return fmt.Sprintf("type %q in %q", p.selector.InstanceType, p.selector.Region)
	}
	return fmt.Sprintf("line %d", p.line)
}

func (c *openCost) withGPUs(n, g assetPrice) pricing.Row {
	s := n.selector
	s.Labels = map[string]string{}
	for _, labels := range []map[string]string{n.selector.Labels, g.selector.Labels} {
		for k, v := range labels {
			s.Labels[k] = v
		}
	}
	if s.Region == "" {
		s.Region = g.selector.Region
	}
	host, gpu := n.hourly, g.hourly
	return pricing.Row{ID: fmt.Sprintf("%s + line %d", id(n), g.line), Selector: s, Currency: c.currency, Price: pricing.Price{Host: &host, GPU: &gpu}}
}

// types are prices of instance types that follow from lines about single nodes.
func (c *openCost) types() (out []assetPrice) {
	type key struct{ region, instanceType string }
	prices, order := map[key][]money.Nano{}, []key{}
	for _, n := range c.nodes {
		k := key{n.selector.Region, n.instanceType}
		if n.instanceType == "" || n.selector.InstanceType != "" {
			continue
		}
		if prices[k] == nil {
			order = append(order, k)
		}
		prices[k] = append(prices[k], n.hourly)
	}
	for _, k := range order {
		if p := prices[k]; slices.Min(p) == slices.Max(p) {
			out = append(out, assetPrice{selector: pricing.Selector{Region: k.region, InstanceType: k.instanceType}, hourly: p[0]})
		}
	}
	return out
}
