// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// maxName bounds the names of agents, boots and nodes, in bytes.
const maxName = 253

// lastMS is the end of the year 9999: beyond it no calendar goes on.
const lastMS = int64(253_402_300_800_000)

// examine says why a batch cannot be taken, or nil.
func examine(b *usage.Batch, index int) *journal.Refusal {
	err := names(b)
	if err == nil && (b.StartMS < 0 || b.StartMS >= lastMS) {
		err = fmt.Errorf("start_ms %d is not between the years 1970 and 9999", b.StartMS)
	}
	if err == nil {
		err = b.Check()
	}
	if err == nil {
		return nil
	}
	return &journal.Refusal{Source: journal.SourceOf(b), Seq: b.Seq, Index: index, Code: journal.RefusedInvalid, Detail: err.Error(),
		Hint: "the batch breaks a rule of the record format: report it with the batch; the others were taken"}
}

func names(b *usage.Batch) error {
	for _, n := range []struct {
		field, value string
	}{{"agent", b.Agent}, {"boot", b.Boot}, {"node", b.Node}} {
		switch {
		case n.value == "":
			return fmt.Errorf("%s is empty", n.field)
		case len(n.value) > maxName:
			return fmt.Errorf("%s has %d bytes, at most %d are taken", n.field, len(n.value), maxName)
		case strings.ContainsFunc(n.value, unicode.IsControl):
			return fmt.Errorf("%s %q has control characters", n.field, n.value)
		}
	}
	return nil
}
