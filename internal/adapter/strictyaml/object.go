// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Object is a mapping of the file while it is read: every key that is asked for
// is a key it may have, and Done reports the others. Mistakes are collected,
// and what is wrong reads as what is not there.
type Object struct {
	*Mistakes
	Path string
	Line int
	// Keys are the names of the fields, as they stand.
	Keys   []string
	fields map[string]Field
	known  []string
}

// Object opens a value that should be a mapping. The path stands before the
// names of its fields in mistakes.
func (m *Mistakes) Object(v Value, path string) *Object {
	o := &Object{Mistakes: m, Path: path, Line: v.Line, fields: map[string]Field{}}
	if v.Shape != Mapping {
		m.Add(o.Line, path, "should be a mapping of names to values, such as \"model: NVIDIA L4\"")
	}
	for _, f := range v.Fields {
		if _, twice := o.fields[f.Key]; twice {
			m.Add(f.Line, o.At(f.Key), "is given twice; keep one of them")
			continue
		}
		o.Keys = append(o.Keys, f.Key)
		o.fields[f.Key] = f
	}
	return o
}

// At is the path of a field.
func (o *Object) At(key string) string {
	if o.Path == "" {
		return key
	}
	return o.Path + "." + key
}

// get is the field of a key, which from now on is one that may be there.
func (o *Object) get(key string) (Field, bool) {
	o.known = append(o.known, key)
	f, ok := o.fields[key]
	return f, ok
}

// Has says whether the field is there, whatever it holds.
func (o *Object) Has(key string) bool { _, ok := o.fields[key]; return ok }

// LineOf is the line of a field, that of the object where it is not there.
func (o *Object) LineOf(key string) int {
	if f, ok := o.fields[key]; ok {
		return f.Line
	}
	return o.Line
}

// Done reports keys that nobody asked for.
func (o *Object) Done() {
	for _, key := range o.Keys {
		if !slices.Contains(o.known, key) {
			o.Add(o.fields[key].Line, o.At(key), "is not a field that belongs here; there are %s", strings.Join(o.known, ", "))
		}
	}
}

// Text is a scalar as it is written, so that numbers keep their digits; "" where
// there is none.
func (o *Object) Text(key string) string {
	f, ok := o.get(key)
	if !ok {
		return ""
	}
	if f.Value.Shape != Scalar || strings.TrimSpace(f.Value.Text) == "" {
		o.Add(f.Line, o.At(key), "should be a plain value; leave the field out where there is none")
		return ""
	}
	return f.Value.Text
}

// read reads a scalar with a function that names the text in its errors.
func read[T any](o *Object, key string, parse func(string) (T, error)) (out T, ok bool) {
	text := o.Text(key)
	if text == "" {
		return out, false
	}
	out, err := parse(text)
	if err != nil {
		o.Add(o.fields[key].Line, o.At(key), "%v", err)
		var none T
		return none, false
	}
	return out, true
}

// Amount is an amount of money, exact, or nil.
func (o *Object) Amount(key string) *money.Nano {
	if n, ok := read(o, key, money.Parse); ok {
		return &n
	}
	return nil
}

// AmountOr0 is an amount of money, 0 where there is none.
func (o *Object) AmountOr0(key string) money.Nano {
	n, _ := read(o, key, money.Parse)
	return n
}

// Moment is a UTC day or a moment, in Unix milliseconds.
func (o *Object) Moment(key string) int64 {
	ms, _ := read(o, key, parseMoment)
	return ms
}

func parseMoment(text string) (int64, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil && t.UnixMilli() > 0 && t.Year() < 10_000 {
			return t.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("%q is no moment: write a day such as 2026-12-01, which begins at midnight UTC, or a moment such as 2026-12-01T08:00:00+01:00", text)
}

// Currency is a code of ISO 4217, or "".
func (o *Object) Currency(key string) money.Currency {
	c, _ := read(o, key, func(text string) (money.Currency, error) { c := money.Currency(text); return c, c.Check() })
	return c
}

// Count is a whole number from least to most, 0 where there is none.
func (o *Object) Count(key string, least, most int64) int64 {
	n, _ := read(o, key, func(text string) (int64, error) {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is no whole number from %d to %d", text, least, most)
		}
		return n, nil
	})
	return n
}

// Flag is true or false, and whether it is given.
func (o *Object) Flag(key string) (value, given bool) {
	return read(o, key, func(text string) (bool, error) {
		switch text {
		case "true":
			return true, nil
		case "false":
			return false, nil
		}
		return false, fmt.Errorf("%q: write true or false", text)
	})
}

var plainDecimal = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,30})?$`)

// Decimal is an exact number that is no money, or nil.
func (o *Object) Decimal(key string) *big.Rat {
	r, _ := read(o, key, func(text string) (*big.Rat, error) {
		if !plainDecimal.MatchString(text) {
			return nil, fmt.Errorf("%q: write a decimal number of 0 or more, such as 1.25", text)
		}
		r, _ := new(big.Rat).SetString(text)
		return r, nil
	})
	return r
}

// List opens each item of a sequence of mappings.
func (o *Object) List(key string, each func(i int, item *Object)) {
	f, ok := o.get(key)
	if !ok {
		return
	}
	if f.Value.Shape != List {
		o.Add(f.Line, o.At(key), "should be a list, each item on a line that begins with \"- \"")
		return
	}
	for i, v := range f.Value.Items {
		item := o.Mistakes.Object(v, fmt.Sprintf("%s[%d]", o.At(key), i))
		each(i, item)
		item.Done()
	}
}

// Sub opens a mapping inside this one.
func (o *Object) Sub(key string, use func(*Object)) {
	if f, ok := o.get(key); ok {
		in := o.Mistakes.Object(f.Value, o.At(key))
		use(in)
		in.Done()
	}
}

// Texts is a mapping of free names to plain values.
func (o *Object) Texts(key string) (out map[string]string) {
	f, ok := o.get(key)
	if !ok {
		return nil
	}
	in := o.Mistakes.Object(f.Value, o.At(key))
	out = map[string]string{}
	for _, k := range in.Keys {
		out[k] = in.Text(k)
	}
	if len(out) == 0 {
		o.Add(f.Line, o.At(key), "is empty; leave it out, or name a label and its value")
	}
	return out
}
