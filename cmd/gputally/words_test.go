// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/api/client"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/report"
)

// TestSpans: what the flags of time come to, on the second of December at 8:30.
func TestSpans(t *testing.T) {
	now := time.Date(2026, 12, 2, 8, 30, 0, 0, time.UTC)
	for _, x := range []struct {
		flags spanFlags
		since string
		want  client.Span
		bad   bool
	}{
		{since: "7d", want: client.Span{From: "2026-11-25T09:00:00Z", To: "2026-12-02T09:00:00Z"}},
		{since: ""},
		{flags: spanFlags{since: "12h"}, since: "7d", want: client.Span{From: "2026-12-01T21:00:00Z", To: "2026-12-02T09:00:00Z"}},
		{flags: spanFlags{since: "1w"}, want: client.Span{From: "2026-11-25T09:00:00Z", To: "2026-12-02T09:00:00Z"}},
		{flags: spanFlags{month: "2026-11"}, since: "7d", want: client.Span{Month: "2026-11"}},
		{flags: spanFlags{from: "2026-11-03"}, want: client.Span{From: "2026-11-03"}},
		{flags: spanFlags{from: "2026-11-03", to: "2026-11-05"}, want: client.Span{From: "2026-11-03", To: "2026-11-05"}},
		{flags: spanFlags{to: "2026-11-05"}, bad: true}, {flags: spanFlags{since: "1d", month: "2026-11"}, bad: true},
		{flags: spanFlags{month: "2026-11", from: "2026-11-03"}, bad: true}, {flags: spanFlags{since: "d"}, bad: true},
		{flags: spanFlags{since: "0d"}, bad: true}, {flags: spanFlags{since: "1.5d"}, bad: true}, {flags: spanFlags{since: "7m"}, bad: true},
	} {
		got, err := x.flags.span(x.since, now)
		var input inputError
		if x.bad != errors.As(err, &input) || !x.bad && (err != nil || got != x.want) {
			t.Errorf("%+v: %+v, %v", x.flags, got, err)
		}
	}
}

// TestDimensions: a word is a dimension, a label, or a mistake.
func TestDimensions(t *testing.T) {
	for _, d := range report.Dimensions() {
		if got, err := dimension(string(d), io.Discard); err != nil || got != string(d) {
			t.Errorf("%s: %s, %v", d, got, err)
		}
	}
	for in, want := range map[string]string{
		"team": "label:team", "label:team": "label:team", "app.kubernetes.io/name": "label:app.kubernetes.io/name", "label:node": "label:node",
		"project": "label:project", "note2self": "label:note2self",
	} {
		var notes strings.Builder
		got, err := dimension(in, &notes)
		if err != nil || got != want || (in == want) == strings.Contains(notes.String(), "taken as the label") {
			t.Errorf("%s: %s, %v, %q", in, got, err, notes.String())
		}
	}
	for in, meant := range map[string]string{"namspace": "namespace", "namespaces": "namespace", "nodes": "node", "wokrload": "workload", "clusster": "cluster", "": ""} {
		if got, err := dimension(in, io.Discard); err == nil || !strings.Contains(err.Error(), meant) {
			t.Errorf("%q is taken as %q (%v), %s was meant", in, got, err, meant)
		}
	}
	got, err := filters([]string{"team=a,b", "namespace!=kube-system", "label:x=y=z"}, io.Discard)
	if diff := cmp.Diff([]string{"label:team=a,b", "namespace!=kube-system", "label:x=y=z"}, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := filters([]string{"namespace"}, io.Discard); err == nil {
		t.Error("a filter without a value is taken")
	}
}

// TestVariants: what a variant does not say is as it is in force.
func TestVariants(t *testing.T) {
	inForce := v1.Policy{ID: "ours", Basis: "held", Distribute: []v1.Distribution{{Account: "idle", How: "proportional", Shares: []v1.Share{}}, {Account: "host", How: "even", Shares: []v1.Share{}}}}
	for text, want := range map[string]v1.Variant{
		"all-gpu":                          {Name: "all-gpu", Split: "all-gpu"},
		"name=x memory":                    {Name: "x", Policy: &v1.Policy{Basis: "memory", Distribute: inForce.Distribute}},
		"idle=even":                        {Name: "idle=even", Policy: &v1.Policy{Basis: "held", Distribute: []v1.Distribution{{Account: "host", How: "even", Shares: []v1.Share{}}, {Account: "idle", How: "even", Shares: []v1.Share{}}}}},
		"reserved  turns-reserve opencost": {Name: "reserved turns-reserve opencost", Split: "opencost", Policy: &v1.Policy{Basis: "reserved", TurnsReserve: true, Distribute: inForce.Distribute}},
	} {
		v, err := parseVariant(text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.over(&inForce)
		if got.Policy != nil {
			got.Policy.ID = "" // a text made from the rules
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(v1.Variant{}, v1.Policy{}, v1.Distribution{})); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", text, err, diff)
		}
	}
	for _, text := range []string{"", "name=x", "held nonsense"} {
		if _, err := parseVariant(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
