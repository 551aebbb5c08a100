// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/expect"
)

// Version is the version of the format that this package reads and writes.
const Version = 1

// DefaultInterval is how often a capture is sampled when it does not say.
const DefaultInterval = 5 * time.Second

// maxSize is the largest capture read, in bytes.
const maxSize = 1 << 30

// File is a capture, read whole.
type File struct {
	Name     string // as given to Read; used in messages
	ID       string
	Title    string
	Source   []string
	Start    time.Time
	End      time.Time // the end of the window, never before Start
	Interval time.Duration
	// EachEntry is true when every entry of the timeline is one sample and
	// nothing was sampled in between, as an agent writes it.
	EachEntry bool
	Nodes     []Node
	// Prices is a price book, Policy a policy, as the capture has them; nil where
	// it has none. Adapters pricebook and policyfile read them.
	Prices, Policy *strictyaml.Value
	// Expect is what the capture says is right, nil when it says nothing.
	Expect *expect.Expect
	// Cut is true when the last line of a file of JSON lines ends in its
	// middle, as a killed agent leaves it. The rest is whole.
	Cut bool

	entries []entry
	monoMS  int64 // monotonic clock at Start
}

// Node is one node of a capture: what does not change, and what it costs.
type Node struct {
	Name  string
	Price Price
	GPUs  []GPU
	line  int
}

// GPU is one GPU of a node's inventory.
type GPU struct {
	UUID  string // "node/index" where the platform has none
	Price Price

	line    int
	patches []patch
}

// Price is what the capture says something costs, as text: exact decimals
// that only the pricing rules may turn into numbers. Empty is not given.
type Price struct {
	Currency  string
	PerHour   string
	VCPU      string
	MemoryGiB string
}

// Read reads a capture, YAML or JSON lines. name stands in error messages,
// each of which is an *Error with the line and the field.
func Read(r io.Reader, name string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read capture %s: %w", name, err)
	}
	if len(text) > maxSize {
		return nil, &Error{File: name, Msg: fmt.Sprintf("is larger than %d bytes; capture a shorter time", maxSize)}
	}
	f := &File{Name: name, Interval: DefaultInterval}
	d := &decoder{name: name}
	if t := bytes.TrimLeft(text, " \t\r\n\ufeff"); len(t) > 0 && t[0] == '{' {
		err = f.readJSON(d, text)
	} else {
		err = f.readYAML(d, text)
	}
	if err != nil {
		return nil, err
	}
	if f.finish(d); d.err != nil {
		return nil, d.err
	}
	return f, nil
}

func (f *File) readYAML(d *decoder, text []byte) error {
	root, err := parseYAML(f.Name, bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return err
	}
	f.header(d, root)
	return d.err
}

// readJSON reads one document, or a header line followed by one line for each
// entry of the timeline.
func (f *File) readJSON(d *decoder, text []byte) error {
	text = bytes.Replace(text, []byte("\ufeff"), []byte("   "), 1)
	b := newJSONBuilder(f.Name, text)
	for first := true; ; first = false {
		n, err := b.next()
		switch {
		case errors.Is(err, io.EOF):
			return d.err
		case errors.Is(err, io.ErrUnexpectedEOF) && !first:
			f.Cut = true
			return d.err
		case errors.Is(err, io.ErrUnexpectedEOF):
			return &Error{File: f.Name, Line: b.line(), Msg: "ends inside the first value; it is not whole"}
		case err != nil:
			return err
		}
		if first {
			f.header(d, n)
		} else {
			f.entry(d, n, fmt.Sprintf("timeline[%d]", len(f.entries)))
		}
		if d.err != nil {
			return d.err
		}
	}
}

// finish checks what can only be seen when all is read.
func (f *File) finish(d *decoder) {
	if f.End.IsZero() {
		f.End = f.Start
		if n := len(f.entries); n > 0 && f.entries[n-1].atMS > 0 {
			f.End = f.Start.Add(time.Duration(f.entries[n-1].atMS) * time.Millisecond)
		}
	}
	for i := range f.Nodes {
		f.dryRun(d, &f.Nodes[i])
	}
}

func (f *File) node(name string) *Node {
	for i := range f.Nodes {
		if f.Nodes[i].Name == name {
			return &f.Nodes[i]
		}
	}
	return nil
}

// MonoMS is what the monotonic clock showed at the start of the window.
func (f *File) MonoMS() int64 { return f.monoMS }
