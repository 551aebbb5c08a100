// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/usage"
)

// policies are one of each rule, and one that passes everything on.
func policies() []allocation.Policy {
	all := allocation.Policy{Basis: allocation.Reserved, TurnsReserve: true}
	for i, account := range allocation.PlatformAccounts() {
		d := allocation.Distribution{Account: account, How: allocation.Proportional}
		switch i % 3 {
		case 1:
			d.How = allocation.Even
		case 2:
			d.How, d.Shares = allocation.Fixed, []allocation.Share{{To: "x", Weight: 2}, {To: "y", Weight: 1}}
		}
		all.Distribute = append(all.Distribute, d)
	}
	return []allocation.Policy{{}, {Basis: allocation.Memory}, {Basis: allocation.Reserved}, all}
}

// TestEveryStoryAddsUp: whatever happens on a node, and whatever the policy,
// entries sum to the cost, none is below 0, and the same records in another
// order, each twice, give the same bytes.
func TestEveryStoryAddsUp(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			s := readStory(t, file)
			if s.file.Expect == nil || len(s.file.Expect.Money) == 0 {
				s.unless = "1.00"
			}
			s.file.Interval = time.Minute
			records := s.records(t)
			backwards := map[string][]usage.Batch{}
			for node, list := range records {
				for _, b := range list {
					backwards[node] = append([]usage.Batch{b, b}, backwards[node]...)
				}
			}
			for _, p := range policies() {
				first, again := s.bill(t, records, p), s.bill(t, backwards, p) // bill checks each hour
				a, errA := json.Marshal(first.entries)
				b, errB := json.Marshal(again.entries)
				if errA != nil || errB != nil || !bytes.Equal(a, b) {
					t.Errorf("%s: the same records, backwards and twice, give other entries", p.Name())
				}
			}
		})
	}
}
