// SPDX-License-Identifier: Apache-2.0

package usage_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
)

// look is a sample after which a look at pod 0's engine came.
func look(sec float64, e attribution.Engine) attribution.Result {
	r := at(sec, gpu0(gib))
	e.Holder = pod(0)
	r.Engines = []attribution.Engine{e}
	return r
}

func told(use float64, waiting, preempted, hits, queries uint64) attribution.Engine {
	return attribution.Engine{Reading: sample.EngineReading{Engine: "vllm", Model: "m", Models: 1, Pools: 1, PoolUse: &use,
		PoolTokens: ptr(uint64(9168)), Waiting: &waiting, Running: ptr(uint64(3)), Preemptions: &preempted, PrefixHits: &hits, PrefixQueries: &queries, Generated: ptr(queries * 1000)}}
}

// TestEngineRecords: what the looks of a window came to; counters grow from one
// look to the next, also over the end of a window and over a new beginning.
func TestEngineRecords(t *testing.T) {
	bs := run(t, 70,
		look(0, told(0.125, 0, 40, 5, 100)),
		look(15, told(0.5, 2, 41, 8, 110)),
		look(30, attribution.Engine{Problem: "timeout"}),
		look(61, told(0.25, 0, 43, 8, 110)),
		look(65, told(0.25, 0, 1, 2, 10))) // the engine began again
	if len(bs) != 2 {
		t.Fatalf("%d windows", len(bs))
	}
	want := usage.EngineRecord{Holder: pod(0), Engine: "vllm", Model: "m", Models: 1, Pools: 1, Answered: 2, Failed: 1, Problems: map[string]int64{"timeout": 1},
		PoolUseMax: ptr(0.5), PoolUseMean: ptr(0.3125), PoolTokens: ptr(uint64(9168)), WaitingKnown: 2, Waited: 1, WaitingMax: ptr(uint64(2)), RunningMax: ptr(uint64(3)),
		Preemptions: ptr(uint64(1)), PrefixHits: ptr(uint64(3)), PrefixQueries: ptr(uint64(10)), GeneratedTokens: ptr(uint64(10_000))}
	want.Span = usage.Span{StartMS: bs[0].StartMS, DurationMS: bs[0].DurationMS}
	if diff := cmp.Diff([]usage.EngineRecord{want}, bs[0].Engines); diff != "" {
		t.Errorf("first window (-want +got):\n%s", diff)
	}
	second := bs[1].Engines[0]
	if second.Answered != 2 || *second.Preemptions != 2+1 || *second.PrefixHits != 0+2 || *second.PrefixQueries != 10 || *second.GeneratedTokens != 10_000 {
		t.Errorf("second window: %+v", second)
	}
}

// TestEngineRecordsKnowNothingOfBefore: the first look only sets the mark.
func TestEngineRecordsKnowNothingOfBefore(t *testing.T) {
	r := run(t, 10, look(0, told(0.5, 0, 40, 5, 100)))[0].Engines[0]
	if r.Preemptions != nil || r.PrefixHits != nil {
		t.Errorf("what was counted before the agent looked is in the window: %+v", r)
	}
	if bs := run(t, 130, at(0, gpu0(gib)), look(5, told(0.5, 0, 0, 0, 0)), at(129, gpu0(gib))); bs[1].Engines != nil {
		t.Errorf("a window without a look has a record: %+v", bs[1].Engines)
	}
}

func TestCheckEngineRecords(t *testing.T) {
	for name, spoil := range map[string]func(*usage.EngineRecord){
		"add up":         func(r *usage.EngineRecord) { r.Failed++ },
		"nest":           func(r *usage.EngineRecord) { r.Waited = r.WaitingKnown + 1 },
		"0 and 1":        func(r *usage.EngineRecord) { r.PoolUseMax = ptr(1.01) },
		"longer than":    func(r *usage.EngineRecord) { r.Model = strings.Repeat("m", 129) },
		"not inside":     func(r *usage.EngineRecord) { r.StartMS-- },
		"stands 0 times": func(r *usage.EngineRecord) { r.Problems = map[string]int64{"timeout": 0} },
	} {
		b := run(t, 10, look(0, told(0.5, 0, 40, 5, 100)))[0]
		spoil(&b.Engines[0])
		if err := b.Check(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
