// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/workload"
)

// The bounds of what is announced. Kubernetes keeps an Event for an hour by
// default: said again that often, what still stands can be seen.
const (
	sayAgain = time.Hour
	// sayChange is the least time between two announcements about one thing.
	sayChange = 5 * time.Minute
	// sayRetry is the pause after one that failed.
	sayRetry = time.Minute
	// A node says sayBurst at once and one more every sayEvery after that. What
	// waits is said later, if it still stands.
	sayBurst = 20
	sayEvery = 10 * time.Second
	// sayWithin bounds one call.
	sayWithin = 10 * time.Second
	// forgetAfter is how long something must be gone before it is new again, so
	// that what comes and goes with every sample is not announced each time.
	forgetAfter = sayChange
)

// announcer decides what of the findings is announced, and when. Only findings
// about pods that reach GPUs of others are: they concern the pod's owner, who
// does not see the node.
type announcer struct {
	out   Announcer
	notes *notes
	queue chan *announced

	mu     sync.Mutex
	known  map[announcedKey]*announced
	tokens float64
	atMS   int64 // monotonic, of the last sample
}

type announcedKey struct {
	kind attribution.FindingKind
	pod  string
	at   string // partition or devices
}

// announced is one finding as it was last seen and said. Times are monotonic ms.
type announced struct {
	what    Announcement
	said    string // the victims and devices that were named
	saidMS  int64
	dueMS   int64 // not before
	seenMS  int64
	began   time.Time
	pending bool
	ever    bool // it was said, the last time it was tried
}

// newAnnouncer is nil where nothing is announced.
func newAnnouncer(out Announcer, n *notes) *announcer {
	if out == nil {
		return nil
	}
	return &announcer{out: out, notes: n, queue: make(chan *announced, sayBurst), known: map[announcedKey]*announced{}, tokens: sayBurst}
}

// run says what is queued until ctx ends.
func (a *announcer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-a.queue:
			a.say(ctx, e)
		}
	}
}

func (a *announcer) say(ctx context.Context, e *announced) {
	a.mu.Lock()
	what := e.what
	a.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sayWithin)
	defer cancel()
	err := a.out.Announce(ctx, what)
	a.mu.Lock()
	defer a.mu.Unlock()
	e.pending = false
	e.ever = err == nil
	if err != nil {
		e.dueMS = a.atMS + sayRetry.Milliseconds()
	}
	a.notes.announce(err)
}

// see takes the findings of a sample.
func (a *announcer) see(r attribution.Result) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens = min(sayBurst, a.tokens+float64(r.MonoMS-a.atMS)/float64(sayEvery.Milliseconds()))
	a.atMS = r.MonoMS
	for i := range r.Findings {
		if f := &r.Findings[i]; announces(f) {
			a.one(f, &r)
		}
	}
	maps.DeleteFunc(a.known, func(_ announcedKey, e *announced) bool {
		return !e.pending && r.MonoMS-e.seenMS > forgetAfter.Milliseconds()
	})
}

// announces: the finding concerns the owner of a pod whose name is known. What
// the platform's own pods can reach is their purpose (info).
func announces(f *attribution.Finding) bool {
	about := f.Kind == attribution.UnallocatedUse || f.Kind == attribution.Exposure
	return about && f.Severity != attribution.Info && f.Holder.Kind == workload.KindPod && f.Holder.Pod != "" && f.Holder.PodUID != ""
}

func (a *announcer) one(f *attribution.Finding, r *attribution.Result) {
	key := announcedKey{f.Kind, f.Holder.PodKey(), f.Partition}
	e := a.known[key]
	if e == nil {
		e = &announced{began: r.At}
		a.known[key] = e
	}
	e.seenMS = r.MonoMS
	says := strings.Join(slices.Concat(f.Victims, []string{"|"}, f.Partitions), ",")
	since := time.Duration(r.MonoMS-e.saidMS) * time.Millisecond
	again := !e.ever || since >= sayAgain || says != e.said && since >= sayChange
	if e.pending || !again || r.MonoMS < e.dueMS || a.tokens < 1 {
		return
	}
	e.what = announcementOf(f, r, e.began)
	select {
	case a.queue <- e:
		a.tokens--
		e.pending, e.said, e.saidMS = true, says, r.MonoMS
	default: // the API server is slow: the next sample tries again
	}
}

// The reasons of announcements, as Kubernetes writes reasons.
const (
	ReasonUnallocated = "UnallocatedGPUUse"
	ReasonExposure    = "GPUExposure"
)

func announcementOf(f *attribution.Finding, r *attribution.Result, since time.Time) Announcement {
	out := Announcement{Pod: f.Holder, Node: r.Node, Reason: ReasonExposure, At: r.At}
	out.Pod.Container = ""
	when := since.UTC().Format(time.RFC3339)
	if f.Kind == attribution.Exposure {
		out.Note = fmt.Sprintf("Can open %s, which it was not given, since %s (%s). To reach a GPU is not to use it. "+
			"Drop privileged, the runtime class or NVIDIA_VISIBLE_DEVICES where they are not needed.",
			counted(f.Partitions, "GPU"), when, strings.Join(f.Evidence, ", "))
		return out
	}
	out.Reason = ReasonUnallocated
	held := "An unknown amount"
	if f.Bytes != nil {
		held = sizeText(*f.Bytes)
	}
	to := "It was given to nobody."
	if len(f.Victims) > 0 {
		to = "It was given to " + some(f.Victims) + ", whose memory this takes."
	}
	out.Note = fmt.Sprintf("Holds %s of GPU memory on %s, which it was not given, since %s. %s "+
		"What it holds is billed to it. Request a GPU (nvidia.com/gpu or a ResourceClaim); where none is needed, set NVIDIA_VISIBLE_DEVICES to void.",
		held, placeText(f, r), when, to)
	return out
}

// placeText names a GPU as people do, beside its UUID.
func placeText(f *attribution.Finding, r *attribution.Result) string {
	for _, p := range r.Partitions {
		if p.ID.String() != f.Partition {
			continue
		}
		model := ""
		if p.Model != "" {
			model = " (" + p.Model + ")"
		}
		if p.Profile != "" {
			model = fmt.Sprintf(" (%s of %s)", p.Profile, p.Model)
		}
		return fmt.Sprintf("GPU %d, %s%s", p.Index, f.Partition, model)
	}
	return "GPU " + f.Partition
}

// sizeText is a size in GiB, small ones in MiB.
func sizeText(bytes uint64) string {
	const mib = 1 << 20
	if bytes < 1024*mib {
		return fmt.Sprintf("%.0f MiB", float64(bytes)/mib)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1024*mib))
}

// maxNamed bounds the names in one text: an Event's note has 1,024 bytes.
const maxNamed = 4

func some(names []string) string {
	if n := len(names) - maxNamed; n > 0 {
		return strings.Join(names[:maxNamed], ", ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ")
}

func counted(names []string, what string) string {
	if len(names) == 1 {
		return "1 " + what + ", " + names[0]
	}
	return fmt.Sprintf("%d %ss, %s", len(names), what, some(names))
}
