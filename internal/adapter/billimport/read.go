// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/bill"
)

// Options say what is read.
type Options struct {
	// Source is the operator's id of where the bill comes from. An import
	// replaces the same source's earlier import of the same billing period.
	Source string
	// Periods are the billing periods that the delivery holds completely; rows
	// of others are left out and counted. Without any, the delivery must hold
	// exactly one: a few rows of another month must not replace that month.
	Periods []bill.Period
}

// Input is one file of a delivery.
type Input struct {
	Name string
	Data io.ReaderAt
	Size int64
}

// ReadFiles is Read of files by their paths.
func ReadFiles(o Options, paths []string, sink func(bill.Line) error) (*Summary, error) {
	var inputs []Input
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("read bill: %w", err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("read bill: %w", err)
		}
		inputs = append(inputs, Input{Name: path, Data: f, Size: info.Size()})
	}
	return Read(o, inputs, sink)
}

// Read reads the files of one delivery in the order given and hands each line
// to sink. The lines count only when it returns without an error: *Unreadable
// names up to ten cells that cannot be read, or what is wrong with a file; an error
// of sink ends the reading and is returned.
func Read(o Options, inputs []Input, sink func(bill.Line) error) (*Summary, error) {
	switch {
	case o.Source == "":
		return nil, errors.New("read bill: no source: give the id of where the bill comes from, such as the name of the export")
	case len(inputs) == 0:
		return nil, errors.New("read bill: no file")
	}
	d := &delivery{options: o, sink: sink, summary: newSummary(o.Source)}
	if err := d.read(inputs); err != nil {
		return nil, d.blame(err)
	}
	return d.summary, nil
}

// delivery is the reading of one delivery.
type delivery struct {
	options  Options
	sink     func(bill.Line) error
	summary  *Summary
	problems Problems
	// sunk: the sink returned an error.
	sunk bool
	// missing are the wanted columns that no row had a value in so far; nil
	// before the first row.
	missing []want
}

func (d *delivery) read(inputs []Input) error {
	for _, in := range inputs {
		if err := d.file(in); err != nil {
			return err
		}
	}
	return d.finish()
}

// blame says whose an error is: the sink's, the disk's, else the files'.
func (d *delivery) blame(err error) error {
	var disk *fs.PathError
	if d.sunk || errors.As(err, &disk) {
		return err
	}
	return &Unreadable{err}
}

// maxProblems is how many cells are named before reading is given up.
const maxProblems = 10

func (d *delivery) file(in Input) error {
	t, closer, err := openTable(in)
	if err != nil {
		return fmt.Errorf("read bill %s: %w", in.Name, err)
	}
	defer closer()
	hash, err := sha(in)
	if err != nil {
		return fmt.Errorf("read bill %s: %w", in.Name, err)
	}
	f := &d.summary.file(in.Name, hash).Rows
	var kind *shape
	for {
		r, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var p *Problem
		switch {
		case errors.As(err, &p):
			p.File = in.Name
			if err := d.problem(p); err != nil {
				return err
			}
			continue
		case err != nil:
			return fmt.Errorf("read bill %s: %w", in.Name, err)
		}
		*f++
		if kind == nil {
			if kind, err = d.shapeOf(t.columns(r), in.Name); err != nil {
				return err
			}
		}
		if err := d.row(kind, r, bill.Row{File: in.Name, Number: *f}); err != nil {
			return err
		}
	}
}

func (d *delivery) shapeOf(columns []string, name string) (*shape, error) {
	kind, err := detect(columns)
	if err != nil {
		return nil, fmt.Errorf("read bill %s: %w", name, err)
	}
	if was := d.summary.Format; was != "" && was != kind.name {
		return nil, fmt.Errorf("read bill %s: it is %s, the files before it are %s: import them as two sources", name, kind.name, was)
	}
	d.summary.Format = kind.name
	if d.missing == nil {
		d.missing = slices.Clone(kind.wants)
	}
	return kind, nil
}

// row turns one row into lines and hands them on.
func (d *delivery) row(kind *shape, r record, at bill.Row) error {
	c := &cells{record: r, at: at, rounded: d.summary.Rounded, note: d.summary.note}
	lines := kind.lines(c)
	d.missing = slices.DeleteFunc(d.missing, func(w want) bool { return c.first(w.columns...) != "" })
	for _, p := range c.problems {
		if err := d.problem(p); err != nil {
			return err
		}
	}
	if len(c.problems) > 0 || len(d.problems) > 0 {
		return nil // nothing of this delivery will count
	}
	for i := range lines {
		l := &lines[i]
		l.Source, l.Row = d.options.Source, at
		if !d.wanted(l.Period) {
			d.summary.leaveOut(fmt.Sprintf("billed in %s, which was not asked for", l.Period))
			return nil
		}
		if err := l.Check(); err != nil {
			return fmt.Errorf("read bill: %w", err)
		}
		d.summary.add(l)
		if err := d.sink(*l); err != nil {
			d.sunk = true
			return err
		}
	}
	return nil
}

func (d *delivery) wanted(p bill.Period) bool {
	for _, want := range d.options.Periods {
		if want == p {
			return true
		}
	}
	return len(d.options.Periods) == 0
}

func (d *delivery) problem(p *Problem) error {
	d.problems = append(d.problems, p)
	if len(d.problems) >= maxProblems {
		return d.problems
	}
	return nil
}

func (d *delivery) finish() error {
	if len(d.problems) > 0 {
		return d.problems
	}
	if err := d.empty(); err != nil {
		return err
	}
	for _, w := range d.missing {
		d.summary.note(w.without)
	}
	d.summary.close()
	if len(d.options.Periods) == 0 && len(d.summary.Periods) > 1 {
		return fmt.Errorf("read bill: the delivery holds rows of %d billing periods (%s), and an import replaces a period as a whole: name those it holds completely",
			len(d.summary.Periods), d.summary.periods())
	}
	return nil
}

// empty refuses a delivery without a row: it can hold no billing period
// completely. One file of several may be empty, as the parts of exports are; it
// is named.
func (d *delivery) empty() error {
	var names []string
	for _, f := range d.summary.Files {
		if f.Rows == 0 {
			names = append(names, f.Name)
		}
	}
	if len(names) < len(d.summary.Files) {
		for _, name := range names {
			d.summary.note(name + " has no rows, only a header")
		}
		return nil
	}
	return &Problem{File: strings.Join(names, ", "), What: "it has no rows, only a header, and nothing was imported: " +
		"see whether the export is finished and is of the months that you mean, and give the files with the rows"}
}
