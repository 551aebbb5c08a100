// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// terminal is what is known of where the answer goes.
type terminal struct {
	is    bool
	width int
}

// terminalOf looks at a stream. What is no terminal has 80 columns, or those
// that COLUMNS says.
func terminalOf(w io.Writer) terminal {
	t := terminal{width: 80}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 40 {
		t.width = n
	}
	f, ok := w.(*os.File)
	if !ok {
		return t
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return t
	}
	t.is = true
	if size.Col >= 40 {
		t.width = int(size.Col)
	}
	return t
}

// colour decides for a --color flag: NO_COLOR (https://no-color.org) and
// TERM=dumb turn colours off unless they are asked for.
func (t terminal) colour(flag string) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	return t.is && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
