// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// says waits until the agent says exactly what is true: in the data and the picture of
// gputally top, and in its metrics.
func (a *agent) says(t *testing.T, want truth) {
	t.Helper()
	eventually(t, "the agent says what is true", func() error {
		p, err := seen()
		if err != nil {
			return err
		}
		m, err := scrape()
		if err != nil {
			return err
		}
		lines := want.lines()
		return errors.Join(
			differs("gputally top --json", lines, p.lines()),
			differs("/metrics", slices.DeleteFunc(lines, isTogether), m.lines(p.uuids())),
			p.balances(), m.balances(), drawn(want))
	})
	a.said = append(a.said, want)
}

func differs(where string, want, got []string) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("%s (-want +got):\n%s", where, diff)
	}
	return nil
}

// lines writes the truth as sorted lines, the form in which all views are compared.
func (w truth) lines() []string {
	var lines []string
	for _, h := range w.holdings {
		lines = append(lines, h.line())
	}
	for _, g := range w.grants {
		lines = append(lines, g.line())
	}
	for _, f := range w.findings {
		lines = append(lines, findingLine(f.kind, f.pod))
	}
	for partition, mode := range w.modes {
		lines = append(lines, modeLine(partition, mode))
	}
	slices.Sort(lines)
	return lines
}

func (h holding) line() string {
	return fmt.Sprintf("%s holds %d bytes of %s", h.who, h.bytes, h.partition)
}
func (g grant) line() string {
	if g.reserved == together {
		return fmt.Sprintf("%s is given %s by %s, together with others", g.pod, g.partition, g.source)
	}
	return fmt.Sprintf("%s is given %s by %s, %d bytes reserved", g.pod, g.partition, g.source, g.reserved)
}
func isTogether(line string) bool            { return strings.HasSuffix(line, ", together with others") }
func findingLine(kind, pod string) string    { return fmt.Sprintf("finding %s of %s", kind, pod) }
func modeLine(partition, mode string) string { return fmt.Sprintf("%s is %s", partition, mode) }
func sorted(lines []string) []string         { slices.Sort(lines); return lines }

// drawn checks that the picture of gputally top names every pod that holds something.
func drawn(want truth) error {
	text, err := output("gputally", "top", "--once", "--width=100", "--agent", agentURL)
	if err != nil {
		return err
	}
	for _, h := range want.holdings {
		pod, _, _ := strings.Cut(h.who, "/")
		if !strings.Contains(string(text), pod) {
			return fmt.Errorf("gputally top --once does not show %s:\n%s", pod, text)
		}
	}
	return nil
}

// picture is the part of gputally top --json that scenarios look at. The names are pinned
// here: they are what other programs read.
type picture struct {
	Partitions []partition `json:"partitions"`
	Findings   []struct {
		Kind     string `json:"kind"`
		Severity string `json:"severity"`
		Holder   holder `json:"holder"`
	} `json:"findings"`
	Sources map[string]struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	} `json:"sources"`
}

type holder struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	PodUID    string `json:"pod_uid"`
	Container string `json:"container"`
}

type partition struct {
	ID           partitionID `json:"id"`
	Names        []string    `json:"names"`
	Mode         string      `json:"mode"`
	MIGParent    bool        `json:"mig_parent"`
	Capacity     *uint64     `json:"capacity"`
	Reserved     *uint64     `json:"reserved"`
	Unattributed *uint64     `json:"unattributed"`
	Free         *uint64     `json:"free"`
	Holdings     []struct {
		Holder holder  `json:"holder"`
		Bytes  *uint64 `json:"bytes"`
		Leak   bool    `json:"leak"`
	} `json:"holdings"`
	Grants []grantSeen `json:"grants"`
}

type grantSeen struct {
	Holder        holder  `json:"holder"`
	Source        string  `json:"source"`
	ReservedBytes *uint64 `json:"reserved_bytes"`
}

func (g grantSeen) line(partition string) string {
	reserved := together
	if g.ReservedBytes != nil {
		reserved = *g.ReservedBytes
	}
	return grant{g.Holder.Pod, partition, g.Source, reserved}.line()
}

type partitionID struct {
	Device   string `json:"device"`
	Instance uint32 `json:"instance"`
	SinceMS  int64  `json:"since_ms"`
}

// seen is what gputally top says now.
func seen() (picture, error) {
	text, err := output("gputally", "top", "--json", "--agent", agentURL)
	if err != nil {
		return picture{}, err
	}
	var answer struct {
		Nodes []struct {
			Error  string  `json:"error"`
			Result picture `json:"result"`
		} `json:"nodes"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return picture{}, fmt.Errorf("read gputally top --json: %w", err)
	}
	if len(answer.Nodes) != 1 || answer.Nodes[0].Error != "" {
		return picture{}, fmt.Errorf("gputally top --json: want one node without an error: %s", text)
	}
	return answer.Nodes[0].Result, nil
}

func (p picture) lines() []string {
	var lines []string
	for _, part := range p.Partitions {
		for _, h := range part.Holdings {
			if h.Bytes == nil {
				lines = append(lines, h.Holder.Pod+" holds an unknown number of bytes")
				continue
			}
			lines = append(lines, holding{who: h.Holder.who(), partition: part.name(), bytes: *h.Bytes}.line())
		}
		for _, g := range part.Grants {
			lines = append(lines, g.line(part.name()))
		}
		if part.Mode != "none" {
			lines = append(lines, modeLine(part.name(), part.Mode))
		}
	}
	for _, f := range p.Findings {
		lines = append(lines, findingLine(f.Kind, f.Holder.Pod))
	}
	return sorted(lines)
}

func (h holder) who() string { return h.Pod + "/" + h.Container }

// name is the UUID by which scenarios know a partition.
func (p partition) name() string {
	if len(p.Names) == 0 {
		return p.ID.Device
	}
	return p.Names[0]
}

// balances checks that the parts of every partition sum to the whole.
func (p picture) balances() error {
	for _, part := range p.Partitions {
		if part.MIGParent {
			continue
		}
		if part.Capacity == nil || part.Reserved == nil || part.Unattributed == nil || part.Free == nil {
			return fmt.Errorf("%s: a part of its memory is unknown", part.name())
		}
		sum := *part.Reserved + *part.Unattributed + *part.Free
		for _, h := range part.Holdings {
			if h.Bytes != nil {
				sum += *h.Bytes
			}
		}
		if sum != *part.Capacity {
			return fmt.Errorf("%s: the parts sum to %d of %d bytes", part.name(), sum, *part.Capacity)
		}
	}
	return nil
}

// uuids tells the UUID of each partition by the labels of its metrics.
func (p picture) uuids() map[string]string {
	names := map[string]string{}
	for _, part := range p.Partitions {
		label := "whole"
		if part.ID.SinceMS != 0 {
			label = fmt.Sprintf("gi%d@%d", part.ID.Instance, part.ID.SinceMS)
		}
		names[part.ID.Device+" "+label] = part.name()
	}
	return names
}

// source waits until the agent says that a source can, or cannot, be read.
func (a *agent) source(t *testing.T, name string, up bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("source %s up: %v", name, up), func() error {
		p, err := seen()
		if err != nil {
			return err
		}
		m, err := scrape()
		if err != nil {
			return err
		}
		s, ok := p.Sources[name]
		if !ok {
			return fmt.Errorf("there is no source %s in %v", name, p.Sources)
		}
		if s.OK != up {
			return fmt.Errorf("gputally top says up: %v, %s", s.OK, s.Error)
		}
		return m.has("gputally_source_up", map[bool]float64{true: 1}[up], "source", name)
	})
}
