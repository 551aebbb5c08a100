// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// calm is after how long without a failure the next one is a first one.
	calm = 2 * time.Minute
	// freshly is how long after a list another one counts as a failure: a server that
	// ends every watch at once must not be asked without end.
	freshly = 30 * time.Second
	// spread is over how long the agents of a cluster list again whose watches ended
	// at the same moment.
	spread = time.Second
)

// pace is how long the requests of one watch wait for their turn. client-go pauses
// after whatever ends a watch, also where the next request would go well: after an
// outage a watch waits once for its turn, is told that its version is gone, and waits
// as long again before it lists. Here only a request that failed makes the next one
// wait. It is for one goroutine.
type pace struct {
	fresh   func() *wait.Backoff // of a first failure
	delay   *wait.Backoff
	due     time.Time // before then nothing is asked
	failed  time.Time // the last failure
	listed  time.Time // the last list
	longest time.Duration
}

func newPace(fresh func() *wait.Backoff, longest time.Duration) *pace {
	return &pace{fresh: fresh, longest: longest}
}

// before is how long a list, or a watch, has to wait. A list after a list that went
// well says that the watch in between came to nothing.
func (p *pace) before(list bool, now time.Time) time.Duration {
	pause := max(0, p.due.Sub(now))
	if !list {
		return pause
	}
	switch again := !p.listed.IsZero(); {
	case pause > 0 || !again:
	case now.Sub(p.listed) < freshly:
		pause = p.step(now)
	default:
		pause = rand.N(min(spread, p.longest))
	}
	p.listed = now.Add(pause)
	return pause
}

// after notes how a request went.
func (p *pace) after(err error, now time.Time) {
	p.due = time.Time{}
	if err != nil && !superseded(err) {
		p.due = now.Add(p.step(now))
	}
}

func (p *pace) step(now time.Time) time.Duration {
	if p.delay == nil || now.Sub(p.failed) >= calm {
		p.delay = p.fresh()
	}
	p.failed = now
	return p.delay.Step()
}
