// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"cmp"
	"fmt"
	"slices"
)

// Import is what one source says of one billing period, whole.
type Import struct {
	Source string `json:"source"`
	Period Period `json:"period"`
	// Hash is of the content that was read, so that the same bill is known again.
	Hash  string `json:"hash"`
	Lines []Line `json:"lines"`
}

// Change is what putting an import into the book did.
type Change string

// The changes: the first of its source and period, one in place of the earlier,
// or the same content again.
const (
	Added     Change = "added"
	Replaced  Change = "replaced"
	Unchanged Change = "unchanged"
)

// Book holds the imports in force: of each source and billing period the latest
// one and no other. An import never adds to an earlier one, so that reading a
// bill twice, or its next edition, counts nothing twice.
type Book struct {
	imports map[key]Import
}

type key struct {
	source string
	period Period
}

// Put takes the import in, in place of the same source's earlier import of the
// same billing period. It fails where a line belongs to another source or
// period, or the period overlaps another one of the source without being it:
// then some days would be counted twice.
func (b *Book) Put(i Import) (Change, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	k := key{i.Source, i.Period}
	for other := range b.imports {
		if other != k && other.source == k.source && other.period.Overlaps(k.period) {
			return "", fmt.Errorf("import %s of %s: it overlaps the import of %s; import whole billing periods, or give it a source of its own", i.Source, i.Period, other.period)
		}
	}
	if b.imports == nil {
		b.imports = map[key]Import{}
	}
	old, was := b.imports[k]
	if was && i.Hash != "" && old.Hash == i.Hash {
		return Unchanged, nil
	}
	b.imports[k] = i
	if was {
		return Replaced, nil
	}
	return Added, nil
}

func (i *Import) check() error {
	if i.Source == "" {
		return fmt.Errorf("import of %s: it has no source; name where the bill comes from", i.Period)
	}
	if err := i.Period.Check(); err != nil {
		return fmt.Errorf("import %s: billing %w", i.Source, err)
	}
	for n := range i.Lines {
		l := &i.Lines[n]
		if l.Source != i.Source || l.Period != i.Period {
			return fmt.Errorf("import %s of %s: the line at %s is of source %q and billing period %s", i.Source, i.Period, l.Row, l.Source, l.Period)
		}
		if err := l.Check(); err != nil {
			return fmt.Errorf("import %s of %s: %w", i.Source, i.Period, err)
		}
	}
	return nil
}

// Imports are those in force, by source and time.
func (b *Book) Imports() []Import {
	all := make([]Import, 0, len(b.imports))
	for _, i := range b.imports {
		all = append(all, i)
	}
	slices.SortFunc(all, func(x, y Import) int {
		return cmp.Or(cmp.Compare(x.Source, y.Source), cmp.Compare(x.Period.StartMS, y.Period.StartMS))
	})
	return all
}

// Hours are the hours of all imports in force.
func (b *Book) Hours() ([]Hour, []Total, error) {
	var h Hours
	for _, i := range b.Imports() {
		for n := range i.Lines {
			if err := h.Add(&i.Lines[n]); err != nil {
				return nil, nil, err
			}
		}
	}
	return h.Result()
}
