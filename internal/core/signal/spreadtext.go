// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"bytes"
	"fmt"
	"strconv"
)

const minuteMS = 60_000

// Coarse is the spread in hundredths, rounded up: a store of millions of hours keeps
// few steps of each. 0 stays 0.
func (s Spread) Coarse() Spread {
	out := Spread{UnreadMS: s.UnreadMS}
	for _, step := range s.Steps {
		out.put(Step{(step.Permille + 9) / 10 * 10, step.MS})
	}
	return out
}

// MarshalText writes a spread in short, since there are millions: thousandths and time
// of each step, in minutes where it is whole ones, and what was not read:
// "0*12m,250*1500,u60000".
func (s Spread) MarshalText() ([]byte, error) {
	var b []byte
	for _, step := range s.Steps {
		b = strconv.AppendUint(b, uint64(step.Permille), 10)
		b = append(b, '*')
		if step.MS%minuteMS == 0 {
			b = append(strconv.AppendInt(b, step.MS/minuteMS, 10), 'm', ',')
		} else {
			b = append(strconv.AppendInt(b, step.MS, 10), ',')
		}
	}
	if s.UnreadMS != 0 {
		b = append(strconv.AppendInt(append(b, 'u'), s.UnreadMS, 10), ',')
	}
	return b[:max(len(b)-1, 0)], nil
}

// UnmarshalText reads what MarshalText wrote.
func (s *Spread) UnmarshalText(text []byte) error {
	*s = Spread{}
	if len(text) == 0 {
		return nil
	}
	s.Steps = make([]Step, 0, bytes.Count(text, comma)+1)
	for rest, more := text, true; more; {
		var part []byte
		part, rest, more = bytes.Cut(rest, comma)
		if err := s.read(part); err != nil {
			return fmt.Errorf("spread %q: %w", text, err)
		}
	}
	if len(s.Steps) == 0 {
		s.Steps = nil
	}
	return nil
}

var comma, star = []byte(","), []byte("*")

func (s *Spread) read(part []byte) error {
	if rest, unread := bytes.CutPrefix(part, []byte("u")); unread {
		ms, ok := number(rest)
		if !ok || ms == 0 {
			return fmt.Errorf("%q is no time", part)
		}
		s.UnreadMS += ms
		return nil
	}
	value, time, _ := bytes.Cut(part, star)
	permille, ok := number(value)
	minutes, whole := bytes.CutSuffix(time, []byte("m"))
	ms, ok2 := number(minutes)
	if whole {
		ms *= minuteMS
	}
	if !ok || !ok2 || permille > maxPermille || ms <= 0 {
		return fmt.Errorf("%q is no step", part)
	}
	s.put(Step{uint32(permille), ms})
	return nil
}

// number reads digits; longer ones than any time are none.
func number(text []byte) (n int64, ok bool) {
	if len(text) == 0 || len(text) > 14 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, true
}
