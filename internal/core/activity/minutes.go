// SPDX-License-Identifier: Apache-2.0

package activity

// Minutes are the minutes of an hour, a bit each, as far as they tell whether
// anybody would miss the pod: the first minute is the lowest bit.
type Minutes struct {
	// Seen: a record begins in the minute.
	Seen uint64 `json:"seen,omitempty"`
	// Told: the activity of the GPU and the use of the CPU are known.
	Told uint64 `json:"told,omitempty"`
	// Quiet: told, no kernel ran, the CPU stood below IdleCPU of what it asks for,
	// and no engine told of a request.
	Quiet uint64 `json:"quiet,omitempty"`
	// Asked: an engine told whether there were requests.
	Asked uint64 `json:"asked,omitempty"`
}

// IdleCPU is CPU as a share of the request, from which a pod is at work.
const IdleCPU = 0.05

// minuteMS is the length of a minute.
const minuteMS = 60_000

// add adds a piece that begins in a minute. Of several in one, all must be quiet.
func (m *Minutes) add(minute int, active, cpu *float64, requests *bool) {
	if minute < 0 || minute > 59 {
		return
	}
	bit := uint64(1) << minute
	told := active != nil && cpu != nil
	quiet := told && *active == 0 && *cpu < IdleCPU && (requests == nil || !*requests)
	m.join(Minutes{Seen: bit, Told: when(bit, told), Quiet: when(bit, quiet), Asked: when(bit, requests != nil)})
}

func when(bit uint64, yes bool) uint64 {
	if yes {
		return bit
	}
	return 0
}

// join adds minutes that go beside these: a minute of both is told, quiet and asked
// only where it is in both.
func (m *Minutes) join(o Minutes) {
	both := func(a, b uint64) uint64 { return a&b | a&^o.Seen | b&^m.Seen }
	*m = Minutes{Seen: m.Seen | o.Seen, Told: both(m.Told, o.Told), Quiet: both(m.Quiet, o.Quiet), Asked: both(m.Asked, o.Asked)}
}

// Join is these minutes with those of another partition or pod beside them: what
// one of them is at work in is no quiet minute of both.
func (m Minutes) Join(o Minutes) Minutes {
	m.join(o)
	return m
}
