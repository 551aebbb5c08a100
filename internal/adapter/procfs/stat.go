// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"fmt"
	"strconv"
)

// stat is what of /proc/PID/stat matters.
type stat struct {
	pid     int // field 1
	comm    []byte
	state   byte
	start   uint64 // ticks since boot, field 22
	program program
}

// program tells one program of a process from the next: where its stack and
// its environment begin, fields 28 and 50. The kernel draws both anew at each
// exec. They are 0 for a reader who may not know.
type program [2]uint64

func (p program) told() bool { return p[1] != 0 }

// parseStat reads a line of /proc/PID/stat. The command is in parentheses and
// may hold spaces, parentheses and newlines itself: it ends at the last ')'.
func parseStat(line []byte) (stat, error) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("parse stat: no command in parentheses in %.80q", line)
	}
	const start = 22 - 3 // the first field after the command is number 3
	state, ticksText := nthField(line[end+1:], 0), nthField(line[end+1:], start)
	if len(state) != 1 || ticksText == nil {
		return stat{}, fmt.Errorf("parse stat: want 22 fields or more in %.80q", line)
	}
	ticks, err := strconv.ParseUint(string(ticksText), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse stat: start time: %w", err)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(line[:open])))
	if err != nil {
		return stat{}, fmt.Errorf("parse stat: PID: %w", err)
	}
	return stat{pid: pid, comm: line[open+1 : end], state: state[0], start: ticks, program: programOf(line[end+1:])}, nil
}

func programOf(fields []byte) (p program) {
	for i, number := range []int{28, 50} {
		p[i], _ = strconv.ParseUint(string(nthField(fields, number-3)), 10, 64) // 0 where there is none
	}
	return p
}

// nthField is a field of a line of fields separated by blanks, counted from 0,
// nil where there are fewer. It allocates nothing, unlike bytes.Fields: a line
// of each process is read for each sample.
func nthField(line []byte, n int) []byte {
	for i := 0; i < len(line); {
		for i < len(line) && line[i] <= ' ' {
			i++
		}
		from := i
		for i < len(line) && line[i] > ' ' {
			i++
		}
		if n == 0 && i > from {
			return line[from:i]
		}
		n--
	}
	return nil
}

// ended reports a zombie or dead process: its other files are empty by now.
func (s stat) ended() bool { return s.state == 'Z' || s.state == 'X' || s.state == 'x' }

// keyed finds the number that follows a key at the start of a line, as in
// cpu.stat, memory.stat, meminfo and status.
func keyed(text []byte, key string) (uint64, bool) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		value, ok := bytes.CutPrefix(line, []byte(key))
		if !ok {
			continue
		}
		number := nthField(value, 0)
		if number == nil || !isBlank(value[0]) {
			continue
		}
		n, err := strconv.ParseUint(string(number), 10, 64)
		return n, err == nil
	}
	return 0, false
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' }
