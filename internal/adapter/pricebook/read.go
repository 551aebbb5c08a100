// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"
	"path"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Version is the version of the format.
const Version = "1"

// maxBytes bounds a price book: a hundred thousand rows are smaller.
const maxBytes = 64 << 20

// File is a price book as it was read.
type File struct {
	Book pricing.Book
	// Policy is how the book's owner wants prices split; nil: it does not say.
	Policy *pricing.Policy
}

// Read reads a price book in YAML (docs/formats/pricebook.md). The name is what
// mistakes and bills call it. Every error is an *Error, or several joined.
func Read(r io.Reader, name string) (*File, error) {
	text, err := readAll(r, name)
	if err != nil {
		return nil, err
	}
	body, err := parse(name, text)
	if err != nil {
		return nil, err
	}
	m := &mistakes{file: name}
	out := &File{Book: pricing.Book{Name: path.Base(name), Revision: revision(text), Grade: pricing.Listed}}
	readBook(m.object(body, ""), out)
	if err := m.err(); err != nil {
		return nil, err
	}
	return out, nil
}

func readAll(r io.Reader, name string) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return nil, &Error{File: name, Msg: "read: " + err.Error()}
	case len(text) > maxBytes:
		return nil, &Error{File: name, Msg: fmt.Sprintf("is larger than %d MiB", maxBytes>>20)}
	}
	return text, nil
}

// revision names the state of a file by its content.
func revision(text []byte) string {
	sum := sha256.Sum256(text)
	return fmt.Sprintf("sha256:%x", sum[:8])
}

func readBook(o *object, out *File) {
	if v := o.text("pricebook"); v != Version {
		o.add(o.line, "pricebook", "should be %s, the version of the format, and is %q", Version, v)
		return
	}
	if name := o.text("name"); name != "" {
		out.Book.Name = name
	}
	currency := o.currency("currency")
	o.sub("split", func(s *object) { out.Policy = readPolicy(s, currency) })
	ids := map[string]int{}
	o.list("rows", func(i int, item *object) {
		row := readRow(item, i, currency)
		if first, twice := ids[row.ID]; twice {
			item.add(item.line, item.at("id"), "%q names the row on line %d already; give each row its own", row.ID, first)
		}
		ids[row.ID] = item.line
		out.Book.Rows = append(out.Book.Rows, row)
	})
	o.done()
}

// readRow reads one row. What cannot be is found by the row's own check, once
// all its fields could be read.
func readRow(o *object, i int, currency money.Currency) pricing.Row {
	before := len(o.found)
	r := pricing.Row{ID: o.text("id"), Selector: readSelector(o), Currency: currency}
	if r.ID == "" {
		r.ID = fmt.Sprintf("row %d", i+1)
	}
	r.From, r.To = o.moment("from"), o.moment("to")
	if c := o.currency("currency"); c != "" {
		r.Currency = c
	}
	r.Price = readPrice(o)
	r.Shape = readShape(o)
	r.Source, r.FirstSeen, r.Retrieved = o.text("source"), o.moment("first_seen"), o.moment("retrieved")
	if r.Currency == "" && len(o.found) == before {
		o.add(o.line, o.at("currency"), "is missing: give it here, or once for all rows at the top of the file")
	} else if err := r.Check(); err != nil && len(o.found) == before {
		o.add(o.line, o.path, "%v", err)
	}
	return r
}

func readSelector(o *object) pricing.Selector {
	return pricing.Selector{
		Provider: o.text("provider"), Region: o.text("region"), Zone: o.text("zone"), Cluster: o.text("cluster"),
		Node: o.text("node"), ProviderID: o.text("provider_id"), InstanceType: o.text("instance_type"),
		Labels: o.texts("labels"), Model: o.text("model"), Capacity: pricing.Capacity(o.text("capacity")),
	}
}

func readPrice(o *object) pricing.Price {
	p := pricing.Price{Host: o.amount("host_hour"), VCPU: o.amount("vcpu_hour"), GiB: o.amount("gib_hour")}
	p.Node, p.GPU = o.perHour("node"), o.perHour("gpu")
	o.sub("on_prem", func(f *object) { p.OnPrem = readOnPrem(f) })
	// A price per GPU covers the host unless the row says otherwise: so do GPU
	// clouds sell.
	included, said := o.flag("host_included")
	alone := p.GPU != nil && p.Node == nil && p.OnPrem == nil && p.Host == nil && p.VCPU == nil && p.GiB == nil
	p.HostIncluded = included || alone && !said
	return p
}

// perHour reads "node_hour" or "node_month", of which only one may be there.
func (o *object) perHour(what string) *money.Nano {
	hour, month := o.amount(what+"_hour"), o.amount(what+"_month")
	switch {
	case hour != nil && month != nil:
		o.add(o.fields[what+"_month"].line, o.at(what+"_month"), "stands beside %s_hour: keep the one that is meant", what)
	case month != nil:
		n, err := pricing.PerHour(*month, pricing.HoursOfMonth)
		if err != nil {
			o.add(o.fields[what+"_month"].line, o.at(what+"_month"), "%v", err)
		}
		return &n
	}
	return hour
}

func readOnPrem(o *object) *pricing.OnPrem {
	f := &pricing.OnPrem{
		Purchase: o.amountOr0("purchase"), Residual: o.amountOr0("residual"),
		PowerKW: o.decimal("power_kw"), PUE: o.decimal("pue"), TariffKWh: o.amountOr0("tariff_kwh"), FixedMonth: o.amountOr0("fixed_month"),
	}
	years, months := o.count("life_years", 1, 100), o.count("life_months", 1, 1200)
	switch {
	case years != 0 && months != 0 || !o.has("life_years") && !o.has("life_months"):
		o.add(o.line, o.path, "give the life as life_years or as life_months")
	default:
		f.LifeHours = years*pricing.HoursOfYear + months*pricing.HoursOfMonth
	}
	if f.PowerKW != nil && !o.has("tariff_kwh") {
		o.add(o.line, o.at("tariff_kwh"), "is missing: power without a tariff costs nothing")
	}
	return f
}

func readShape(o *object) pricing.Shape {
	const much = 1 << 20
	return pricing.Shape{
		GPUs: int(o.count("gpus", 1, much)), Model: o.text("gpu_model"), GPUMemoryGiB: o.count("gpu_memory_gib", 1, much),
		CPUMilli: 1000 * o.count("vcpu", 1, much), MemoryBytes: o.gibibytes("memory_gib"),
	}
}

// gibibytes reads GiB, perhaps with decimal places, as bytes.
func (o *object) gibibytes(key string) uint64 {
	gib := o.decimal(key)
	if gib == nil {
		return 0
	}
	bytes := new(big.Int).Quo(new(big.Int).Lsh(gib.Num(), 30), gib.Denom())
	if !bytes.IsInt64() {
		o.add(o.fields[key].line, o.at(key), "is more than any node has")
		return 0
	}
	return bytes.Uint64()
}
