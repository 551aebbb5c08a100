// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/usage"
)

// DigestRecords is the SHA-256, in hex, of the batches that an hour was rated
// from, whatever order they come in and however often each: a batch is known by
// its agent, boot and number.
func DigestRecords(batches []usage.Batch) (string, error) {
	order := slices.Clone(batches)
	compare := func(a, b usage.Batch) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Boot, b.Boot), cmp.Compare(a.Seq, b.Seq))
	}
	slices.SortStableFunc(order, compare)
	h := sha256.New()
	for i := range order {
		if i > 0 && compare(order[i-1], order[i]) == 0 {
			continue
		}
		b, err := json.Marshal(&order[i])
		if err != nil {
			return "", fmt.Errorf("digest batch %s/%s/%d: %w", order[i].Agent, order[i].Boot, order[i].Seq, err)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
