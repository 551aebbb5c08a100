// SPDX-License-Identifier: Apache-2.0

package kubeforward_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	streaming "k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/gputally/gputally/internal/adapter/kubeforward"
)

// before131 answers port forwarding as an API server before 1.31 does: it passes a WebSocket on
// to the kubelet, which wants the ports in the query, and speaks SPDY. The pod says hello.
func before131(t *testing.T) (url string, asked *[]string) {
	t.Helper()
	asked = new([]string)
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.Method+" "+r.URL.Path)
		if r.Method == http.MethodGet {
			http.Error(w, `query parameter "port" is required`, http.StatusBadRequest)
			return
		}
		if _, err := streaming.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			t.Errorf("SPDY: %v", err)
			return
		}
		conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s streaming.Stream, _ <-chan struct{}) error {
			if s.Headers().Get(corev1.StreamType) == corev1.StreamTypeData {
				go func() {
					_, _ = io.WriteString(s, "hello from port "+s.Headers().Get(corev1.PortHeader))
					_ = s.Close()
				}()
			}
			return nil
		})
		if conn != nil {
			t.Cleanup(func() { conn.Close() })
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// TestOldAPIServersAreReachedBySPDY: where a WebSocket is refused, SPDY is tried.
func TestOldAPIServersAreReachedBySPDY(t *testing.T) {
	url, asked := before131(t)
	f := cluster(t, url, `{"token":"mine"}`, nil).Forward(kubeforward.Pod{Name: "server", Port: 9403})
	defer f.Close()
	conn, err := f.DialContext(context.Background(), "", "")
	if err != nil {
		t.Fatalf("%v, asked %q", err, *asked)
	}
	defer conn.Close()
	if said, err := io.ReadAll(conn); err != nil || string(said) != "hello from port 9403" {
		t.Errorf("the pod says %q, %v", said, err)
	}
	const path = "/api/v1/namespaces/gputally/pods/server/portforward"
	if got := strings.Join(*asked, ", "); got != "GET "+path+", POST "+path {
		t.Errorf("asked %s", got)
	}
}

// TestWhoMayNotForwardIsToldWhichRight also where both ways are refused.
func TestWhoMayNotForwardIsToldWhichRight(t *testing.T) {
	url, _ := apiServer(t, nil)
	_, err := cluster(t, url, `{"token":"mine"}`, nil).Forward(kubeforward.Pod{Name: "server", Port: 9403}).DialContext(context.Background(), "", "")
	if err == nil || !strings.Contains(err.Error(), "with the verb get and create on pods/portforward") {
		t.Errorf("a refused forwarding: %v, want the missing right", err)
	}
}
