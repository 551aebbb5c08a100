// SPDX-License-Identifier: Apache-2.0

package manifest

import "fmt"

// The limits of an input. Real manifests stay far below; they keep a made-up one
// from taking all memory or time.
const (
	maxDepth  = 100        // levels of a document
	maxBytes  = 256 << 20  // of a file; kubectl get pods -A -o json of a large cluster is some 100 MiB
	maxValues = 20_000_000 // values of a document, those of merge keys counted where they are used
	maxAgain  = 100_000    // times that values of a document are read again through aliases
)

type shape int

const (
	null shape = iota
	scalar
	list
	mapping
)

func (s shape) String() string {
	return [...]string{"nothing", "a plain value", "a list", "a mapping"}[s]
}

// value is one value of a document. Aliases share the value of their anchor.
type value struct {
	shape  shape
	line   int
	text   string
	items  []*value
	keys   []string // as they stand
	fields map[string]*value
	read   bool // it was gone through before
}

// set adds a field. A name that is there already is a mistake: which of the two
// counts depends on who reads.
func (v *value) set(key string, line int, field *value) error {
	if _, twice := v.fields[key]; twice {
		return &syntaxError{line, fmt.Sprintf("field %q is given twice; keep one of them", key)}
	}
	if v.fields == nil {
		v.fields = map[string]*value{}
	}
	v.keys = append(v.keys, key)
	v.fields[key] = field
	return nil
}

// syntaxError is a document that is neither YAML nor JSON, or not of a kind
// that is taken.
type syntaxError struct {
	line int
	msg  string
}

func (e *syntaxError) Error() string { return e.msg }

// budget counts values of a document.
type budget int

func (b *budget) take(n int) error {
	if *b += budget(n); *b > maxValues {
		return &syntaxError{0, fmt.Sprintf("holds more than %d values, merge keys counted; split it", maxValues)}
	}
	return nil
}
