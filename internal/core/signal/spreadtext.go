// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"fmt"
	"strconv"
	"strings"
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
	for _, part := range strings.Split(string(text), ",") {
		if rest, ok := strings.CutPrefix(part, "u"); ok {
			ms, err := strconv.ParseInt(rest, 10, 64)
			if err != nil || ms <= 0 {
				return fmt.Errorf("spread %q: %q is no time", text, part)
			}
			s.UnreadMS += ms
			continue
		}
		if err := s.read(part); err != nil {
			return fmt.Errorf("spread %q: %w", text, err)
		}
	}
	return nil
}

func (s *Spread) read(part string) error {
	value, time, _ := strings.Cut(part, "*")
	permille, err := strconv.ParseUint(value, 10, 32)
	if err != nil || permille > maxPermille {
		return fmt.Errorf("%q is no step", part)
	}
	minutes, whole := strings.CutSuffix(time, "m")
	ms, err := strconv.ParseInt(minutes, 10, 64)
	if whole {
		ms *= minuteMS
	}
	if err != nil || ms <= 0 {
		return fmt.Errorf("%q is no step", part)
	}
	s.put(Step{uint32(permille), ms})
	return nil
}
