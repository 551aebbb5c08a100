// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/usage"
)

// ledger remembers which numbers of which boot were seen, and which a gap
// names, to find what is there twice and what is missing.
type ledger struct {
	seen  map[bootKey]map[uint64]bool
	named map[bootKey][][2]uint64
	twice []string
}

type bootKey struct{ agent, boot string }

func newLedger() *ledger {
	return &ledger{seen: map[bootKey]map[uint64]bool{}, named: map[bootKey][][2]uint64{}}
}

func (k bootKey) compare(o bootKey) int {
	return cmp.Or(strings.Compare(k.agent, o.agent), strings.Compare(k.boot, o.boot))
}

func (l *ledger) add(b usage.Batch) {
	boot := bootKey{b.Agent, b.Boot}
	if l.seen[boot] == nil {
		l.seen[boot] = map[uint64]bool{}
	}
	if l.seen[boot][b.Seq] {
		l.twice = append(l.twice, fmt.Sprintf("%s/%d", b.Boot, b.Seq))
	}
	l.seen[boot][b.Seq] = true
	if b.Gap != nil && b.Gap.FirstSeq != 0 {
		key := bootKey{b.Agent, b.Gap.Boot}
		l.named[key] = append(l.named[key], [2]uint64{b.Gap.FirstSeq, b.Gap.LastSeq})
	}
}

// holes lists the numbers below the highest of each boot that are neither seen
// nor named, as "boot/first-last".
func (l *ledger) holes() []string {
	out := []string{}
	for _, boot := range slices.SortedFunc(maps.Keys(l.seen), bootKey.compare) {
		seqs := slices.Sorted(maps.Keys(l.seen[boot]))
		// The first one seen may follow what was shipped and deleted.
		want := seqs[0]
		for _, seq := range seqs {
			if seq > want && !l.isNamed(boot, want, seq-1) {
				out = append(out, fmt.Sprintf("%s/%d-%d", boot.boot, want, seq-1))
			}
			want = seq + 1
		}
	}
	return out
}

// isNamed reports whether gaps name all of first to last.
func (l *ledger) isNamed(boot bootKey, first, last uint64) bool {
	ranges := slices.Clone(l.named[boot])
	slices.SortFunc(ranges, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	for _, r := range ranges {
		if r[0] <= first && r[1] >= first {
			first = r[1] + 1
		}
	}
	return first > last
}

// finish adds what only the end shows: duplicates, holes, and a torn tail,
// which a reader takes for the end.
func (l *ledger) finish(rep Report, r *Reader, segments []segment) (Report, error) {
	rep.Duplicates = append(rep.Duplicates, l.twice...)
	rep.Holes = append(rep.Holes, l.holes()...)
	if len(segments) == 0 {
		return rep, nil
	}
	last := segments[len(segments)-1]
	problems, _, err := examine(segmentPath(rep.Dir, last.number), last)
	if err != nil {
		return rep, errors.Join(err, r.Close())
	}
	for _, p := range problems {
		if p.Kind == TornTail {
			rep.Problems = append(rep.Problems, p)
		}
	}
	return rep, nil
}
