// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/ship"
)

const audit = `{"stage":"RequestReceived","verb":"list","requestURI":"/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&resourceVersion=0","requestReceivedTimestamp":"2026-11-03T10:00:00.000000Z","objectRef":{"resource":"pods"},"user":{"username":"gputally-agent"}}
{"stage":"RequestReceived","verb":"watch","requestURI":"/api/v1/pods?watch=true","requestReceivedTimestamp":"2026-11-03T10:00:00.900000Z","objectRef":{"resource":"pods"},"user":{"username":"gputally-agent"}}
{"stage":"RequestReceived","verb":"get","requestURI":"/apis/resource.k8s.io","requestReceivedTimestamp":"2026-11-03T10:00:01.100000Z","user":{"username":"gputally-agent"}}
{"stage":"RequestReceived","verb":"create","requestURI":"/apis/authentication.k8s.io/v1/tokenreviews","requestReceivedTimestamp":"2026-11-03T10:00:01.200000Z","objectRef":{"resource":"tokenreviews"},"user":{"username":"system:serviceaccount:gputally:gputally-server"}}
{"stage":"RequestReceived","verb":"list","requestURI":"/api/v1/nodes","requestReceivedTimestamp":"2026-11-03T11:00:00.000000Z","objectRef":{"resource":"nodes"},"user":{"username":"gputally-agent"}}
{"stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/nodes","requestReceivedTimestamp":"2026-11-03T10:00:02.000000Z","objectRef":{"resource":"nodes"},"user":{"username":"gputally-agent"},"responseStatus":{"code":403}}
{"stage":"ResponseComplete","verb":"list","requestURI":"/api/v1/nodes","requestReceivedTimestamp":"2026-11-03T10:00:02.000000Z","objectRef":{"resource":"nodes"},"user":{"username":"gputally-agent"},"responseStatus":{"code":200}}
`

// TestAudit: requests are counted by who asked, for what and when, and one without a
// selector is found.
func TestAudit(t *testing.T) {
	began := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	all, err := readAudit(strings.NewReader(audit), began, began.Add(time.Hour))
	if err != nil || len(all.requests()) != 4 {
		t.Fatal(all, err)
	}
	agent := all.of(agentUser)
	if got, want := agent.String(), "1 `get /apis/resource.k8s.io`, 1 `list pods`, 1 `watch pods`"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := listed(agent.failures()), "1 `list nodes: 403`"; got != want {
		t.Errorf("failed: %q, want %q", got, want)
	}
	if n := agent.peak(); n != 2 {
		t.Errorf("at most %d in a second, want 2", n)
	}
	if n := len(all.of(":gputally-server").requests()); n != 1 {
		t.Errorf("%d reviews, want 1", n)
	}
	if whole := all.wholes(); len(whole) != 1 || whole[0] != "watch /api/v1/pods?watch=true" {
		t.Errorf("%q ask for more than a node", whole)
	}
	if _, err := readAudit(strings.NewReader("half a line"), began, began); err == nil {
		t.Error("what is no audit log was read")
	}
}

// TestMinute: a minute's record is sound, of its node, and of its time.
func TestMinute(t *testing.T) {
	hour := time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)
	for _, seq := range []uint64{1, 10, 61} {
		b := minute(7, seq, hour)
		if err := b.Check(); err != nil {
			t.Errorf("minute %d: %v", seq, err)
		}
		if want := hour.Add(time.Duration(seq-1) * time.Minute).UnixMilli(); b.StartMS != want || b.Node != "node-0007" || b.Partitions[0].StartMS != want {
			t.Errorf("minute %d begins at %d on %s, want %d", seq, b.StartMS, b.Node, want)
		}
	}
}

// TestSpool: what is acknowledged is gone, and a reader goes on where it was.
func TestSpool(t *testing.T) {
	s := &memorySpool{}
	for seq := range uint64(3) {
		s.append(ship.Entry{Seq: seq + 1})
	}
	w := s.Walk(s.Acked())
	first, err := w.Next()
	if err != nil || first.Seq != 1 {
		t.Fatal(first, err)
	}
	if err := s.Ack(first.Next); err != nil || s.Acked() != first.Next || len(s.entries) != 2 {
		t.Fatal(s.Acked(), err)
	}
	again := s.Walk(s.Acked())
	for _, reader := range []ship.Walk{w, again} {
		for _, want := range []uint64{2, 3} {
			if e, err := reader.Next(); err != nil || e.Seq != want {
				t.Errorf("read %d, want %d: %v", e.Seq, want, err)
			}
		}
		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("after the last: %v", err)
		}
	}
}

// TestDocument: the document has the markers, and only what is between them changes.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	once, err := refreshed(string(doc), "a new table\n")
	if err != nil {
		t.Fatal(err)
	}
	if twice, err := refreshed(once, "a new table\n"); err != nil || twice != once || !strings.Contains(once, "a new table") {
		t.Errorf("%v\n%s", err, twice)
	}
	if _, err := refreshed("no markers", "x"); err == nil {
		t.Error("a document without markers was refreshed")
	}
}
