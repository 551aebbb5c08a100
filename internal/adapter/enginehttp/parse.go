// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
)

const (
	// maxSeries bounds the wanted series of a page, maxModels the models that
	// one Ollama has loaded.
	maxSeries = 10_000
	maxModels = 256
)

// parse reads the wanted series of a page in Prometheus's text format. The rest of
// it, most of which are histograms, is passed over unread.
func parse(body []byte) (demand.Page, error) {
	lines, n := wantedLines(body)
	if n > maxSeries {
		return nil, tooLarge
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(lines))
	if err != nil {
		return nil, malformed
	}
	page := demand.Page{}
	for name, family := range families {
		if err := addFamily(page, name, family.GetMetric()); err != nil {
			return nil, err
		}
	}
	return page, nil
}

// wantedLines are the lines of samples whose names are looked at. Comments go:
// what type a name has is known here, and engines disagree on how to write it.
func wantedLines(body []byte) (out []byte, n int) {
	for line := range bytes.Lines(body) {
		end := bytes.IndexAny(line, "{ \t")
		if end <= 0 || line[0] == '#' || !demand.Wanted(string(line[:end])) {
			continue
		}
		out = append(out, bytes.TrimRight(line, "\r\n")...)
		out = append(out, '\n')
		n++
	}
	return out, n
}

func addFamily(page demand.Page, name string, metrics []*dto.Metric) error {
	seen := make(map[string]bool, len(metrics))
	for _, m := range metrics {
		key, err := identity(m)
		if err != nil {
			return err
		}
		if seen[key] {
			return duplicate
		}
		seen[key] = true
		page[name] = append(page[name], seriesOf(m))
	}
	return nil
}

// identity is all labels of a series, in order.
func identity(m *dto.Metric) (string, error) {
	pairs := make([]string, 0, len(m.GetLabel()))
	names := make([]string, 0, len(m.GetLabel()))
	for _, l := range m.GetLabel() {
		pairs = append(pairs, l.GetName()+"\x00"+l.GetValue())
		names = append(names, l.GetName())
	}
	slices.Sort(names)
	if len(slices.Compact(names)) < len(pairs) {
		return "", malformed
	}
	slices.Sort(pairs)
	return strings.Join(pairs, "\x00\x00"), nil
}

func seriesOf(m *dto.Metric) demand.Series {
	s := demand.Series{Labels: map[string]string{}, Value: m.GetUntyped().GetValue()}
	for _, l := range m.GetLabel() {
		if v, ok := demand.KeepLabel(l.GetName(), l.GetValue()); ok {
			s.Labels[l.GetName()] = v
		}
	}
	return s
}

// readOllama reads the answer of /api/ps.
func readOllama(body []byte) (sample.EngineReading, error) {
	var answer struct {
		Models *[]struct {
			Name string  `json:"name"`
			VRAM *uint64 `json:"size_vram"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return sample.EngineReading{}, malformed
	}
	if answer.Models == nil {
		return sample.EngineReading{}, noEngine
	}
	if len(*answer.Models) > maxModels {
		return sample.EngineReading{}, tooLarge
	}
	models := make([]demand.OllamaModel, 0, len(*answer.Models))
	for _, m := range *answer.Models {
		if m.VRAM == nil {
			return sample.EngineReading{}, malformed // silence is not 0
		}
		models = append(models, demand.OllamaModel{Name: m.Name, VRAM: *m.VRAM})
	}
	return demand.ReadOllama(models), nil
}
