// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
)

// progress says how many days are done: on one line of a terminal, elsewhere a
// line for each ten days.
type progress struct {
	out  io.Writer
	what string
	days int
	said int
}

func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// to says that so many days are done, if that is news.
func (p *progress) to(day int) {
	day = min(max(day, 0), p.days)
	switch {
	case day <= p.said:
	case isTerminal(p.out):
		p.said = day
		fmt.Fprintf(p.out, "\r%s: %d of %d days ", p.what, day, p.days)
	case day/10 > p.said/10:
		p.said = day
		fmt.Fprintf(p.out, "%s: %d of %d days\n", p.what, day, p.days)
	}
}

// end says what came of it.
func (p *progress) end(text string) {
	if isTerminal(p.out) {
		fmt.Fprint(p.out, "\r\033[K")
	}
	fmt.Fprintf(p.out, "%s: %s\n", p.what, text)
}
