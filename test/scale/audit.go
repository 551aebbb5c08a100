// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"
)

// request is one line of the API server's audit log.
type request struct {
	Stage  string    `json:"stage"`
	Verb   string    `json:"verb"`
	URI    string    `json:"requestURI"`
	At     time.Time `json:"requestReceivedTimestamp"`
	Object struct {
		Resource string `json:"resource"`
	} `json:"objectRef"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	Answer struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// kind is what a request does, such as "watch pods".
func (r *request) kind() string {
	if r.Object.Resource == "" {
		path, _, _ := strings.Cut(r.URI, "?")
		return r.Verb + " " + path
	}
	return r.Verb + " " + r.Object.Resource
}

// whole says whether the request asks for more objects than those of one node.
func (r *request) whole() bool {
	if r.Verb != "list" && r.Verb != "watch" {
		return false
	}
	u, err := url.Parse(r.URI)
	return err != nil || u.Query().Get("fieldSelector") == ""
}

// audited are requests of a time, in the order in which they came, and what was
// answered to those that failed.
type audited []request

// arrived and answered are stages of a request (audit.k8s.io/v1).
const (
	arrived  = "RequestReceived"
	answered = "ResponseComplete"
)

// readAudit reads the requests that came from from on, until to, and how those ended
// that failed.
func readAudit(in io.Reader, from, to time.Time) (out audited, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, fmt.Errorf("read audit log: %w: %.200s", err, lines.Bytes())
		}
		told := r.Stage == arrived || r.Stage == answered && r.Answer.Code >= 300
		if told && !r.At.Before(from) && r.At.Before(to) {
			out = append(out, r)
		}
	}
	return out, lines.Err()
}

// auditSince is what came from then until now.
func auditSince(from time.Time) (audited, error) {
	f, err := os.Open(auditLog)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAudit(f, from, time.Now())
}

// of are those of a user whose name ends so.
func (a audited) of(user string) (out audited) {
	for _, r := range a {
		if strings.HasSuffix(r.User.Username, user) {
			out = append(out, r)
		}
	}
	return out
}

// requests are those that arrived.
func (a audited) requests() (out audited) {
	for _, r := range a {
		if r.Stage == arrived {
			out = append(out, r)
		}
	}
	return out
}

// counts are the requests of each kind.
func (a audited) counts() map[string]int {
	out := map[string]int{}
	for _, r := range a.requests() {
		out[r.kind()]++
	}
	return out
}

// failures are the answers that were no success, by kind and code.
func (a audited) failures() map[string]int {
	out := map[string]int{}
	for _, r := range a {
		if r.Stage == answered {
			out[fmt.Sprintf("%s: %d", r.kind(), r.Answer.Code)]++
		}
	}
	return out
}

// peak is the most that came in any second.
func (a audited) peak() (most int) {
	first := 0
	sorted := slices.SortedFunc(slices.Values(a.requests()), func(x, y request) int { return x.At.Compare(y.At) })
	for i, r := range sorted {
		for r.At.Sub(sorted[first].At) >= time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// wholes are the requests that ask for the objects of all nodes.
func (a audited) wholes() (out []string) {
	for _, r := range a.requests() {
		if r.whole() {
			out = append(out, r.Verb+" "+r.URI)
		}
	}
	return out
}

// String is the counts, the most frequent first.
func (a audited) String() string { return listed(a.counts()) }

func listed(counts map[string]int) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(x, y string) int { return cmp.Or(counts[y]-counts[x], cmp.Compare(x, y)) })
	var parts []string
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%s `%s`", thousands(float64(counts[k])), k))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
