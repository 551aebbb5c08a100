// SPDX-License-Identifier: Apache-2.0

package pricebook

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/big"
	"path"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Version is the version of the format.
const Version = "1"

// maxBytes bounds a price book: a hundred thousand rows are smaller.
const maxBytes = 64 << 20

// Error is a mistake in a price book, with its place.
type Error = strictyaml.Error

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
	body, err := strictyaml.Parse(name, text, "a price book is one YAML document that begins with pricebook: 1")
	if err != nil {
		return nil, err
	}
	m := &strictyaml.Mistakes{File: name}
	out := &File{Book: pricing.Book{Name: path.Base(name), Revision: revision(text), Grade: pricing.Listed}}
	readBook(m.Object(body, ""), out)
	if err := m.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

// ReadSection reads the price book of another file, which needs no version of its
// own. The path is where it stands in that file.
func ReadSection(v strictyaml.Value, file, at string) (*File, error) {
	m := &strictyaml.Mistakes{File: file}
	out := &File{Book: pricing.Book{Name: path.Base(file), Grade: pricing.Listed}}
	o := m.Object(v, at)
	if o.Has("pricebook") {
		checkVersion(o)
	}
	readRows(o, out)
	if err := m.Err(); err != nil {
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

func readBook(o *strictyaml.Object, out *File) {
	if checkVersion(o) {
		readRows(o, out)
	}
}

func checkVersion(o *strictyaml.Object) bool {
	v := o.Text("pricebook")
	if v != Version {
		o.Add(o.LineOf("pricebook"), o.At("pricebook"), "should be %s, the version of the format, and is %q", Version, v)
	}
	return v == Version
}

func readRows(o *strictyaml.Object, out *File) {
	if name := o.Text("name"); name != "" {
		out.Book.Name = name
	}
	currency := o.Currency("currency")
	o.Sub("split", func(s *strictyaml.Object) { out.Policy = readPolicy(s, currency) })
	o.List("nodes", func(_ int, item *strictyaml.Object) { out.Book.Known = append(out.Book.Known, readKnown(item)) })
	readConversions(o, &out.Book)
	ids := map[string]int{}
	o.List("rows", func(i int, item *strictyaml.Object) {
		row := readRow(item, i, currency)
		if first, twice := ids[row.ID]; twice {
			item.Add(item.Line, item.At("id"), "%q names the row on line %d already; give each row its own", row.ID, first)
		}
		ids[row.ID] = item.Line
		out.Book.Rows = append(out.Book.Rows, row)
	})
	o.Done()
}

// readRow reads one row. What cannot be is found by the row's own check, once
// all its fields could be read.
func readRow(o *strictyaml.Object, i int, currency money.Currency) pricing.Row {
	before := o.Found()
	r := pricing.Row{ID: o.Text("id"), Selector: readSelector(o), Currency: currency}
	if r.ID == "" {
		r.ID = fmt.Sprintf("row %d", i+1)
	}
	r.From, r.To = o.Moment("from"), o.Moment("to")
	if c := o.Currency("currency"); c != "" {
		r.Currency = c
	}
	r.Price = readPrice(o)
	r.Shape = readShape(o)
	r.Source, r.FirstSeen, r.Retrieved = o.Text("source"), o.Moment("first_seen"), o.Moment("retrieved")
	if r.Currency == "" && o.Found() == before {
		o.Add(o.Line, o.At("currency"), "is missing: give it here, or once for all rows at the top of the file")
	} else if err := r.Check(); err != nil && o.Found() == before {
		o.Add(o.Line, o.Path, "%v", err)
	}
	return r
}

// readConversions reads the rates at which currencies are converted.
func readConversions(o *strictyaml.Object, into *pricing.Book) {
	o.List("convert", func(_ int, item *strictyaml.Object) {
		before := item.Found()
		c := pricing.Conversion{
			Currency: item.Currency("currency"), Into: item.Currency("into"), Rate: item.Decimal("rate"),
			From: item.Moment("from"), To: item.Moment("to"), Source: item.Text("source"),
		}
		if item.Found() != before {
			return
		}
		if err := pricing.CheckConversion(into.Convert, &c); err != nil {
			item.Add(item.Line, item.Path, "%v", err)
			return
		}
		into.Convert = append(into.Convert, c)
	})
}

// readKnown reads what the operator says of nodes.
func readKnown(o *strictyaml.Object) pricing.Known {
	before := o.Found()
	k := pricing.Known{
		Cluster: o.Text("cluster"), Node: o.Text("node"), Labels: o.Texts("labels"),
		Provider: o.Text("provider"), Region: o.Text("region"), Zone: o.Text("zone"), InstanceType: o.Text("instance_type"),
		Capacity: pricing.Capacity(o.Text("capacity")),
	}
	if err := k.Check(); err != nil && o.Found() == before {
		o.Add(o.Line, o.Path, "%v", err)
	}
	return k
}

func readSelector(o *strictyaml.Object) pricing.Selector {
	return pricing.Selector{
		Provider: o.Text("provider"), Region: o.Text("region"), Zone: o.Text("zone"), Cluster: o.Text("cluster"),
		Node: o.Text("node"), ProviderID: o.Text("provider_id"), InstanceType: o.Text("instance_type"),
		Labels: o.Texts("labels"), Model: o.Text("model"), Capacity: pricing.Capacity(o.Text("capacity")),
	}
}

func readPrice(o *strictyaml.Object) pricing.Price {
	p := pricing.Price{Host: o.Amount("host_hour"), VCPU: o.Amount("vcpu_hour"), GiB: o.Amount("gib_hour")}
	p.Node, p.GPU = perHour(o, "node"), perHour(o, "gpu")
	o.Sub("on_prem", func(f *strictyaml.Object) { p.OnPrem = readOnPrem(f) })
	// A price per GPU covers the host unless the row says otherwise: so do GPU
	// clouds sell.
	included, said := o.Flag("host_included")
	alone := p.GPU != nil && p.Node == nil && p.OnPrem == nil && p.Host == nil && p.VCPU == nil && p.GiB == nil
	p.HostIncluded = included || alone && !said
	return p
}

// perHour reads "node_hour" or "node_month", of which only one may be there.
func perHour(o *strictyaml.Object, what string) *money.Nano {
	hour, month := o.Amount(what+"_hour"), o.Amount(what+"_month")
	switch {
	case hour != nil && month != nil:
		o.Add(o.LineOf(what+"_month"), o.At(what+"_month"), "stands beside %s_hour: keep the one that is meant", what)
	case month != nil:
		n, err := pricing.PerHour(*month, pricing.HoursOfMonth)
		if err != nil {
			o.Add(o.LineOf(what+"_month"), o.At(what+"_month"), "%v", err)
		}
		return &n
	}
	return hour
}

func readOnPrem(o *strictyaml.Object) *pricing.OnPrem {
	f := &pricing.OnPrem{
		Purchase: o.AmountOr0("purchase"), Residual: o.AmountOr0("residual"),
		PowerKW: o.Decimal("power_kw"), PUE: o.Decimal("pue"), TariffKWh: o.AmountOr0("tariff_kwh"), FixedMonth: o.AmountOr0("fixed_month"),
	}
	years, months := o.Count("life_years", 1, 100), o.Count("life_months", 1, 1200)
	switch {
	case years != 0 && months != 0 || !o.Has("life_years") && !o.Has("life_months"):
		o.Add(o.Line, o.Path, "give the life as life_years or as life_months")
	default:
		f.LifeHours = years*pricing.HoursOfYear + months*pricing.HoursOfMonth
	}
	if f.PowerKW != nil && !o.Has("tariff_kwh") {
		o.Add(o.Line, o.At("tariff_kwh"), "is missing: power without a tariff costs nothing")
	}
	return f
}

func readShape(o *strictyaml.Object) pricing.Shape {
	const much = 1 << 20
	return pricing.Shape{
		GPUs: int(o.Count("gpus", 1, much)), Model: o.Text("gpu_model"), GPUMemoryGiB: o.Count("gpu_memory_gib", 1, much),
		CPUMilli: 1000 * o.Count("vcpu", 1, much), MemoryBytes: gibibytes(o, "memory_gib"),
	}
}

// gibibytes reads GiB, perhaps with decimal places, as bytes.
func gibibytes(o *strictyaml.Object, key string) uint64 {
	gib := o.Decimal(key)
	if gib == nil {
		return 0
	}
	bytes := new(big.Int).Quo(new(big.Int).Lsh(gib.Num(), 30), gib.Denom())
	if !bytes.IsInt64() {
		o.Add(o.LineOf(key), o.At(key), "is more than any node has")
		return 0
	}
	return bytes.Uint64()
}
