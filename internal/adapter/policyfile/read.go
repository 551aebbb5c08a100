// SPDX-License-Identifier: Apache-2.0

package policyfile

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Version is the version of the format.
const Version = "1"

// maxBytes bounds a policy file: seven accounts and their owners are smaller.
const maxBytes = 1 << 20

// Error is a mistake in a policy file, with its place.
type Error = strictyaml.Error

// File is a policy as it was read. The zero value is the default: held, with
// every platform account apart.
type File struct {
	Name string
	// Revision names the state of the file by its content.
	Revision string
	// Text is the file, so that an old line can be explained.
	Text   []byte
	Policy allocation.Policy
	// Split is the rule by which prices of one line are split; empty: as the
	// price book says, else residual.
	Split pricing.Rule
}

// ReadFile reads a policy file by its path.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read policy: %w", err)
	}
	defer f.Close()
	return Read(f, path)
}

// Read reads a policy file in YAML (docs/formats/policy.md). The name is what
// mistakes call it. Every error is an *Error, or several joined.
func Read(r io.Reader, name string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	switch {
	case err != nil:
		return nil, &Error{File: name, Msg: "read: " + err.Error()}
	case len(text) > maxBytes:
		return nil, &Error{File: name, Msg: fmt.Sprintf("is larger than %d MiB", maxBytes>>20)}
	}
	body, err := strictyaml.Parse(name, text, "a policy is one YAML document that begins with policy: 1")
	if err != nil {
		return nil, err
	}
	m := &strictyaml.Mistakes{File: name}
	o := m.Object(body, "")
	if v := o.Text("policy"); v != Version {
		m.Add(o.LineOf("policy"), "policy", "should be %s, the version of the format, and is %q", Version, v)
		return nil, m.Err()
	}
	out := read(o)
	if err := m.Err(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	out.Name, out.Text, out.Revision = name, text, fmt.Sprintf("sha256:%x", sum[:8])
	return out, nil
}

// ReadSection reads the policy of another file, which has no version of its own.
// The path is where it stands in that file.
func ReadSection(v strictyaml.Value, file, path string) (*File, error) {
	m := &strictyaml.Mistakes{File: file}
	out := read(m.Object(v, path))
	out.Name = file
	if err := m.Err(); err != nil {
		return nil, err
	}
	return out, nil
}

func read(o *strictyaml.Object) *File {
	before := o.Found()
	out := &File{}
	out.Policy.ID = o.Text("id")
	out.Policy.Basis = allocation.Basis(o.Text("basis"))
	out.Policy.TurnsReserve, _ = o.Flag("turns_reserve")
	out.Policy.Scope = allocation.Scope(o.Text("scope"))
	o.List("distribute", func(_ int, item *strictyaml.Object) {
		out.Policy.Distribute = append(out.Policy.Distribute, readDistribution(item))
	})
	if rule := o.Text("split"); rule != "" {
		out.Split = pricing.Rule(rule)
		if err := checkRule(out.Split); err != nil {
			o.Add(o.LineOf("split"), o.At("split"), "%v", err)
		}
	}
	o.Done()
	if err := out.Policy.Check(); err != nil && o.Found() == before {
		o.Add(o.Line, o.Path, "%v", err)
	}
	return out
}

func readDistribution(o *strictyaml.Object) allocation.Distribution {
	d := allocation.Distribution{Account: o.Text("account"), How: allocation.How(o.Text("how"))}
	if to := o.Text("to"); to != "" {
		d.Shares = append(d.Shares, allocation.Share{To: to, Weight: 1})
	}
	o.List("shares", func(_ int, item *strictyaml.Object) {
		d.Shares = append(d.Shares, allocation.Share{To: item.Text("to"), Weight: uint64(item.Count("weight", 1, 1<<32))})
	})
	return d
}
