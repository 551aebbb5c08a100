// SPDX-License-Identifier: Apache-2.0

package access

import (
	"errors"
	"strings"
	"testing"
)

// TestSenderCovers: a bound sender speaks for its node and cluster, an open one
// for all; the refusal names both.
func TestSenderCovers(t *testing.T) {
	name := func(s string) *string { return &s }
	for _, c := range []struct {
		s             Sender
		cluster, node string
		says          []string
	}{
		{Sender{}, "c", "n", nil},
		{Sender{Node: name("n")}, "any", "n", nil},
		{Sender{Node: name("n"), Cluster: name("")}, "", "n", nil},
		{Sender{Name: "who", Node: name("n")}, "c", "other", []string{`"other"`, `"n"`, "who"}},
		{Sender{Node: name("")}, "c", "n", []string{`"n"`, `""`}},
		{Sender{Name: "who", Cluster: name("")}, "c", "n", []string{`"c"`, `""`, "who"}},
		{Sender{Cluster: name("c"), Node: name("n")}, "d", "n", []string{`"c"`, `"d"`}},
	} {
		err := c.s.Covers(c.cluster, c.node)
		if len(c.says) == 0 {
			if err != nil {
				t.Errorf("%+v, %s/%s: %v", c.s, c.cluster, c.node, err)
			}
			continue
		}
		var d *Denied
		if !errors.As(err, &d) || !d.Known || d.Hint == "" || !strings.Contains(err.Error(), d.Hint) {
			t.Errorf("%+v, %s/%s: %v", c.s, c.cluster, c.node, err)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(d.Why, want) {
				t.Errorf("%q does not name %s", d.Why, want)
			}
		}
	}
}
