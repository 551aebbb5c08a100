// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/rest"
)

// recorderAt writes to a handler as to an API server.
func recorderAt(t *testing.T, h http.HandlerFunc) *Recorder {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	api, err := connect(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return (&Cache{api: api, opts: Options{Node: "node-a"}}).NewRecorder()
}

// TestEvent: what is written has all that events.k8s.io/v1 asks for: it refuses
// an Event without a time, a controller, an action, or whose namespace is not
// that of its pod.
func TestEvent(t *testing.T) {
	var got eventsv1.Event
	r := recorderAt(t, func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost || req.URL.Path != "/apis/events.k8s.io/v1/namespaces/ml/events" || req.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s %s", req.Method, req.URL.Path, req.Header.Get("Content-Type"))
		}
		if err := json.NewDecoder(req.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		answer(w, object{"apiVersion": "events.k8s.io/v1", "kind": "Event"})
	})
	at := time.Unix(1796200000, 5).UTC()
	err := r.Create(context.Background(), Event{Namespace: "ml", Pod: strings.Repeat("p", 253), UID: "u-1", Node: "node-a", Reason: "GPUExposure", Note: strings.Repeat("é", 600), At: at})
	if err != nil {
		t.Fatal(err)
	}
	if got.Namespace != "ml" || got.Regarding.Namespace != "ml" || got.Regarding.UID != "u-1" || got.Regarding.Kind != "Pod" || got.Related.Name != "node-a" {
		t.Errorf("wrote %+v", got)
	}
	if got.EventTime.IsZero() || got.ReportingController == "" || got.ReportingInstance != "gputally-agent-node-a" || got.Action == "" || got.Type != "Warning" || got.Reason != "GPUExposure" {
		t.Errorf("wrote %+v", got)
	}
	if len(got.Name) > 253 || len(got.Note) != 1024 {
		t.Errorf("name of %d bytes, note of %d", len(got.Name), len(got.Note))
	}
}

// TestEventRefused: a missing right is named; a namespace that goes away, and an
// Event that is there already, are no failures.
func TestEventRefused(t *testing.T) {
	for _, c := range []struct {
		code   int
		reason string
		want   string
	}{
		{http.StatusForbidden, "Forbidden", "create on events of events.k8s.io"},
		{http.StatusConflict, "AlreadyExists", ""},
		{http.StatusNotFound, "NotFound", ""},
		{http.StatusUnprocessableEntity, "Invalid", "write event: "},
	} {
		r := recorderAt(t, func(w http.ResponseWriter, _ *http.Request) { refuse(w, c.code, c.reason, "no") })
		err := r.Create(context.Background(), Event{Namespace: "ml", Pod: "p", At: time.Now()})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.reason, err, c.want)
		}
	}
}

// TestEventNames: what one sample says of one pod are several Events.
func TestEventNames(t *testing.T) {
	at := time.Unix(1796200000, 5)
	seen := map[string]bool{}
	for _, e := range []Event{
		{Pod: "p", At: at, Reason: "GPUExposure", Note: "n"}, {Pod: "p", At: at, Reason: "UnallocatedGPUUse", Note: "on GPU 0"},
		{Pod: "p", At: at, Reason: "UnallocatedGPUUse", Note: "on GPU 1"}, {Pod: "p", At: at.Add(1), Reason: "GPUExposure", Note: "n"},
	} {
		seen[nameOf(e)] = true
	}
	if len(seen) != 4 {
		t.Errorf("four things have the names %v", seen)
	}
}
