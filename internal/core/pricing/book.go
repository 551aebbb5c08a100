// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"slices"
	"strings"
)

// Book is an ordered list of prices from one source.
type Book struct {
	Name     string // stands on the bill: a file, or "built-in"
	Revision string // the state of it, such as a date or a hash
	Grade    Grade  // Billed for a provider's bill, else Listed
	Rows     []Row
	// Known is what its owner says of nodes; it holds for all books.
	Known []Known
	// Convert are rates at which its owner has currencies converted, for all books.
	Convert []Conversion
}

// Prices are books in their order of precedence and the policy by which their
// prices are split. They answer what a node costs.
type Prices struct {
	policy Policy
	bills  *Bills
	books  []*indexed
}

// New makes prices of books, the strongest first: the operator's book, the
// built-in list. Imported bills come before all of them (WithBills). A book prices a node whole, or the next
// one is asked: prices of two books are never mixed. The books are kept, not
// copied.
func New(policy Policy, books ...*Book) (*Prices, error) {
	if err := policy.Check(); err != nil {
		return nil, err
	}
	out := &Prices{policy: policy}
	for _, b := range books {
		ix, err := index(b)
		if err != nil {
			return nil, fmt.Errorf("price book %s: %w", b.Name, err)
		}
		out.books = append(out.books, ix)
	}
	return out, nil
}

// WithBills is the prices with bills before all books, in place of those they
// had. It costs nothing: the books are shared.
func (p *Prices) WithBills(b *Bills) *Prices {
	out := *p
	out.bills = b
	return &out
}

// Policy is the policy by which prices are split.
func (p *Prices) Policy() Policy { return p.policy }

// indexed is a book with its rows found fast. Places of rows stand in the order
// of the book.
type indexed struct {
	*Book
	named map[string][]int // by node name or provider id
	typed map[string][]int // by instance type, in lower case
	rest  []int
}

func index(b *Book) (*indexed, error) {
	ix := &indexed{Book: b, named: map[string][]int{}, typed: map[string][]int{}}
	for i := range b.Known {
		if err := b.Known[i].Check(); err != nil {
			return nil, fmt.Errorf("known node %d: %w", i+1, err)
		}
	}
	if err := checkConversions(b.Convert); err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(b.Rows))
	for i := range b.Rows {
		r := &b.Rows[i]
		if err := r.Check(); err != nil {
			return nil, fmt.Errorf("row %s: %w", r.ID, err)
		}
		if r.ID == "" || ids[r.ID] {
			return nil, fmt.Errorf("row %d: the id %q is not there or not the only one", i+1, r.ID)
		}
		ids[r.ID] = true
		ix.place(i, r)
	}
	return ix, nil
}

func (ix *indexed) place(i int, r *Row) {
	switch r.class() {
	case byName:
		key := "node:" + r.Node
		if r.ProviderID != "" {
			key = strings.ToLower(strings.TrimPrefix(r.ProviderID, "/"))
		}
		ix.named[key] = append(ix.named[key], i)
	case byType:
		key := strings.ToLower(r.InstanceType)
		ix.typed[key] = append(ix.typed[key], i)
	default:
		ix.rest = append(ix.rest, i)
	}
}

// rows are the rows that choose the node, whenever and however it was bought,
// by class and in the order of the book.
func (ix *indexed) rows(n *Node) (out [classes][]*Row) {
	add := func(places []int) {
		for _, i := range places {
			r := &ix.Rows[i]
			if r.matches(n) && r.fits(n) {
				out[r.class()] = append(out[r.class()], r)
			}
		}
	}
	for _, key := range names(n) {
		add(ix.named[key])
	}
	add(ix.typed[strings.ToLower(n.InstanceType)])
	add(ix.rest)
	return out
}

// fits says whether a row with a model has a device to price.
func (r *Row) fits(n *Node) bool {
	if r.Model == "" {
		return true
	}
	for _, s := range n.Slots {
		if MatchModel(r.Model, s.Model) {
			return true
		}
	}
	return false
}

// names are the keys under which rows of the node may stand: its name, its
// provider id, and every end of that.
func names(n *Node) []string {
	out := []string{"node:" + n.Name}
	if n.ProviderID == "" {
		return out
	}
	id := strings.ToLower(n.ProviderID)
	add := func(key string) {
		if !slices.Contains(out, key) {
			out = append(out, key)
		}
	}
	add(strings.TrimPrefix(id, "/"))
	for i := range len(id) {
		if id[i] == '/' && i+1 < len(id) && unmistakable(id[i+1:]) {
			add(strings.TrimPrefix(id[i+1:], "/"))
		}
	}
	return out
}
