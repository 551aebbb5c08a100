// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math"
	"slices"
	"strings"
	"unicode"
)

// Page is what is kept of a page of metrics: the series of each wanted name.
type Page map[string][]Series

// Series is one value with the wanted ones of its labels.
type Series struct {
	Labels map[string]string
	Value  float64
}

// label names what is kept of the labels of a series. All others are dropped
// before anything is looked at: they are a tenant's text.
var keptLabels = []string{
	labelModelName, labelModel, labelName, // which model
	labelEngine, labelDPRank, // which rank has a pool of its own
	labelBlockType, labelRequestType, labelBatcher, // which figure (Triton)
	labelBlocks, labelBlockSize, labelPoolTokens, labelPoolBytes, labelConcurrency, labelFraction, labelFreeFraction, // settings
}

const (
	labelModelName    = "model_name"
	labelModel        = "model"
	labelName         = "name"
	labelEngine       = "engine"
	labelDPRank       = "dp_rank"
	labelBlockType    = "kv_cache_block_type"
	labelRequestType  = "request_type"
	labelBatcher      = "inflight_batcher_specific_metric"
	labelBlocks       = "num_gpu_blocks"
	labelBlockSize    = "block_size"
	labelPoolTokens   = "kv_cache_size_tokens"
	labelPoolBytes    = "kv_cache_memory_bytes"
	labelConcurrency  = "kv_cache_max_concurrency"
	labelFraction     = "gpu_memory_utilization"
	labelFreeFraction = "free_gpu_memory_fraction"
)

// MaxLabelBytes bounds the value of a label that is kept.
const MaxLabelBytes = 128

// KeepLabel reports whether a label is kept, and its value as it is kept: cut,
// and without what cannot be printed.
func KeepLabel(name, value string) (string, bool) {
	if !slices.Contains(keptLabels, name) {
		return "", false
	}
	return clean(value), true
}

func clean(value string) string {
	value = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, value)
	if len(value) <= MaxLabelBytes {
		return value
	}
	cut := MaxLabelBytes
	for cut > 0 && value[cut]&0xC0 == 0x80 {
		cut--
	}
	return value[:cut]
}

// rank is what has a pool of its own: one model on one data-parallel rank.
// Tensor- and pipeline-parallel ranks of it tell the same again.
func (s *Series) rank() string {
	return s.model() + "\x00" + s.Labels[labelEngine] + "\x00" + s.Labels[labelDPRank]
}

func (s *Series) model() string {
	for _, name := range []string{labelModelName, labelModel, labelName} {
		if v := s.Labels[name]; v != "" {
			return v
		}
	}
	return ""
}

// first are the series of the first of the names that the page has: names are
// listed newest first.
func (p Page) first(names []string) []Series {
	for _, name := range names {
		if len(p[name]) > 0 {
			return p[name]
		}
	}
	return nil
}

// with are those of the series whose label has the value.
func with(all []Series, label, value string) (out []Series) {
	for _, s := range all {
		if s.Labels[label] == value {
			out = append(out, s)
		}
	}
	return out
}

// byRank is the largest value of each rank; false where one is no number.
func byRank(all []Series) (map[string]float64, bool) {
	out := map[string]float64{}
	for i := range all {
		v := all[i].Value
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return nil, false
		}
		key := all[i].rank()
		if had, ok := out[key]; !ok || v > had {
			out[key] = v
		}
	}
	return out, len(out) > 0
}

// share is the largest value as a share, nil where it is none.
func share(all []Series) *float64 {
	ranks, ok := byRank(all)
	if !ok {
		return nil
	}
	most := 0.0
	for _, v := range ranks {
		most = max(most, v)
	}
	if most > 1 {
		return nil
	}
	return &most
}

// count is the sum over the ranks, nil where there is none.
func count(all []Series) *uint64 {
	ranks, ok := byRank(all)
	if !ok {
		return nil
	}
	sum := 0.0
	for _, v := range ranks {
		sum += v
	}
	return whole(sum)
}

// least is the smallest of the ranks' values, above 0.
func least(all []Series) *uint64 {
	ranks, ok := byRank(all)
	if !ok {
		return nil
	}
	low := math.Inf(1)
	for _, v := range ranks {
		low = min(low, v)
	}
	if v := whole(low); v != nil && *v > 0 {
		return v
	}
	return nil
}

// maxExact is up to where a float counts in ones.
const maxExact = 1 << 53

func whole(v float64) *uint64 {
	if math.IsNaN(v) || v < 0 || v > maxExact {
		return nil
	}
	n := uint64(math.Round(v))
	return &n
}

// add is nil only where both are.
func add(a, b *uint64) *uint64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a + *b
	return &sum
}
