// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Explanation is how charges came about, in plain words.
func Explanation(e *v1.Explanation) string {
	var b strings.Builder
	switch {
	case e.Entries == 0:
		return "Nothing was charged.\n"
	case e.Entries > len(e.Traces):
		fmt.Fprintf(&b, "%s; these are the %s that cost most (--limit shows more).\n\n", count(int64(e.Entries), "charge", "charges"), whole(int64(len(e.Traces))))
	case e.Entries > 1:
		fmt.Fprintf(&b, "%s, those that cost most first.\n\n", count(int64(e.Entries), "charge", "charges"))
	}
	for i := range e.Traces {
		if i > 0 {
			b.WriteString("\n")
		}
		t := &e.Traces[i]
		fmt.Fprintf(&b, "Entry %s\n%s", Plain(t.Charge.Entry), lines(t.Text))
	}
	return b.String()
}

// lines is a text of several lines without what would steer a terminal.
func lines(text string) string {
	in := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := range in {
		in[i] = Plain(in[i])
	}
	return strings.Join(in, "\n") + "\n"
}
