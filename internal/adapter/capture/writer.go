// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// Writer writes the samples of one node as JSON lines: a header, then one line
// for each sample with what changed. Nothing is lost: Read gives back equal
// samples, with devices ordered by index, Kubernetes objects by namespace and
// name, and pod usage by UID. Each line is one write, so that a killed program
// leaves at most its last line cut. A Writer is not safe for concurrent use.
type Writer struct {
	// Interval is the sampling interval that was set; Title says what was
	// captured. They stand in the header: set them before the first Write.
	Interval time.Duration
	Title    string

	w       io.Writer
	started bool
	node    string
	monoMS  int64     // of the first sample
	lastMS  int64     // of the last sample, from the first
	shown   time.Time // the wall clock showed this at clockMS
	clockMS int64
	known   known
}

// NewWriter returns a Writer; nothing is written before the first sample.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: w, Interval: DefaultInterval, known: newKnown()}
}

// headerLine is the first line.
type headerLine struct {
	Capture  int               `json:"capture"`
	Title    string            `json:"title,omitempty"`
	Window   map[string]string `json:"window"`
	Interval json.Number       `json:"interval"`
	Samples  string            `json:"samples"`
	MonoMS   int64             `json:"mono_ms,omitempty"`
	Nodes    []headerNode      `json:"nodes"`
}

type headerNode struct {
	Name string `json:"name"`
}

// entryLine is a line of the timeline: what changed.
type entryLine struct {
	At           json.Number                             `json:"at"`
	Clock        string                                  `json:"clock,omitempty"`
	NVML         json.RawMessage                         `json:"nvml,omitempty"`
	Standalone   json.RawMessage                         `json:"standalone,omitempty"`
	GPUs         map[gpu.UUID]map[string]json.RawMessage `json:"gpus,omitempty"`
	Processes    map[string]json.RawMessage              `json:"processes,omitempty"`
	PodResources json.RawMessage                         `json:"podresources,omitempty"`
	Allocatable  json.RawMessage                         `json:"allocatable,omitempty"`
	Reach        json.RawMessage                         `json:"reach,omitempty"`
	Engines      json.RawMessage                         `json:"engines,omitempty"`
	PodUsage     map[string]json.RawMessage              `json:"pod_usage,omitempty"`
	Reduced      *reducedObjects                         `json:"reduced,omitempty"`
	Sources      map[string]json.RawMessage              `json:"sources,omitempty"`
}

// Write writes one sample. Samples are of one node, each later than the last by
// the monotonic clock, or at the same time.
func (w *Writer) Write(s sample.Sample) error {
	if !w.started {
		if err := w.begin(s); err != nil {
			return fmt.Errorf("write capture: %w", err)
		}
	}
	at := s.MonoMS - w.monoMS
	switch {
	case s.Node != w.node:
		return fmt.Errorf("write capture: sample of node %q in the capture of node %q", s.Node, w.node)
	case at < w.lastMS:
		return fmt.Errorf("write capture: sample at %d ms is older than the last, at %d ms", s.MonoMS, w.lastMS+w.monoMS)
	}
	e := entryLine{At: seconds(at)}
	if wall := w.shown.Add(time.Duration(at-w.clockMS) * time.Millisecond); !wall.Equal(s.At) {
		e.Clock = s.At.UTC().Format(time.RFC3339Nano)
		w.shown, w.clockMS = s.At, at
	}
	if err := w.known.update(&e, s); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	w.lastMS = at
	return w.line(e)
}

func (w *Writer) begin(s sample.Sample) error {
	w.started, w.node, w.monoMS, w.shown = true, s.Node, s.MonoMS, s.At
	return w.line(headerLine{
		Capture: Version, Title: w.Title,
		Window:   map[string]string{"start": s.At.UTC().Format(time.RFC3339Nano)},
		Interval: seconds(w.Interval.Milliseconds()),
		Samples:  "entries", MonoMS: s.MonoMS,
		Nodes: []headerNode{{Name: s.Node}},
	})
}

func (w *Writer) line(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	if _, err := w.w.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("write capture: %w", err)
	}
	return nil
}

// seconds writes milliseconds as decimal seconds.
func seconds(ms int64) json.Number {
	sign := ""
	if ms < 0 {
		sign, ms = "-", -ms
	}
	if ms%1000 == 0 {
		return json.Number(fmt.Sprintf("%s%d", sign, ms/1000))
	}
	return json.Number(fmt.Sprintf("%s%d.%03d", sign, ms/1000, ms%1000))
}
