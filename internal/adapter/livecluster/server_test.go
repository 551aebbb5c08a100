// SPDX-License-Identifier: Apache-2.0

package livecluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// apiServer answers lists page by page, as an API server does: with tokens that
// can grow too old, and refusals by path. The real one is in test/cluster.
type apiServer struct {
	t  *testing.T
	mu sync.Mutex
	// lists are the objects of a collection, by path.
	lists map[string][]map[string]any
	// only are the namespaces that may be listed one by one; nil: everything may.
	only []string
	// refused are paths that are forbidden.
	refused []string
	// old is how many tokens are refused as too old, with one that goes on.
	old  int
	seen []string
}

func newAPIServer(t *testing.T) (*apiServer, string) {
	t.Helper()
	s := &apiServer{t: t, lists: map[string][]map[string]any{}}
	for _, k := range kinds {
		if !k.optional {
			s.lists[k.path("")] = nil
		}
	}
	s.lists["/api/v1/namespaces"] = nil
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: lab\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u, user: {token: t}}]\ncontexts: [{name: lab, context: {cluster: c, user: u}}]\n", h.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, file
}

// put adds an object to its collection. Owner is its controller, as KIND/NAME/UID.
func (s *apiServer) put(path, namespace, name, owner string, more map[string]any) {
	meta := map[string]any{"namespace": namespace, "name": name, "uid": "u-" + name}
	if p := strings.Split(owner, "/"); len(p) == 3 {
		meta["ownerReferences"] = []any{map[string]any{"kind": p[0], "name": p[1], "uid": p[2], "controller": true}}
	}
	o := map[string]any{"metadata": meta}
	for k, v := range more {
		o[k] = v
	}
	s.lists[path] = append(s.lists[path], o)
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path, q := r.URL.Path, r.URL.Query()
	s.seen = append(s.seen, path)
	if r.Method != http.MethodGet {
		s.t.Errorf("%s %s: a scan only reads", r.Method, path)
	}
	w.Header().Set("Content-Type", "application/json")
	space := ""
	if before, after, ok := strings.Cut(path, "/namespaces/"); ok {
		var plural string
		space, plural, _ = strings.Cut(after, "/")
		if strings.HasPrefix(plural, "configmaps/") {
			s.configMap(w, path, space)
			return
		}
		path = before + "/" + plural
	}
	all, there := s.lists[path]
	switch {
	case s.forbidden(path, space):
		status(w, 403, "Forbidden", "")
		return
	case !there:
		status(w, 404, "NotFound", "")
		return
	case q.Get("limit") == "":
		s.t.Errorf("%s: no limit", path)
	case strings.HasSuffix(path, "/pods") != (q.Get("fieldSelector") != ""):
		s.t.Errorf("%s with field selector %q", path, q.Get("fieldSelector"))
	}
	s.page(w, inSpace(all, space), q.Get("limit"), q.Get("continue"))
}

func (s *apiServer) forbidden(path, space string) bool {
	if slices.Contains(s.refused, path) {
		return true
	}
	return s.only != nil && path != "/api/v1/namespaces" && !slices.Contains(s.only, space)
}

func (s *apiServer) configMap(w http.ResponseWriter, path, space string) {
	name := path[strings.LastIndex(path, "/")+1:]
	switch {
	case s.only != nil && !slices.Contains(s.only, space):
		status(w, 403, "Forbidden", "")
	case name == "gone":
		status(w, 404, "NotFound", "")
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"metadata": map[string]any{"name": name, "namespace": space}, "data": map[string]any{"k": "all"}})
	}
}

func inSpace(all []map[string]any, space string) (out []map[string]any) {
	for _, o := range all {
		if space == "" || o["metadata"].(map[string]any)["namespace"] == space {
			out = append(out, o)
		}
	}
	return out
}

func (s *apiServer) page(w http.ResponseWriter, all []map[string]any, limit, from string) {
	if from != "" && s.old > 0 && !strings.HasPrefix(from, "new") {
		s.old--
		status(w, 410, "Expired", "new"+from)
		return
	}
	start, _ := strconv.Atoi(strings.TrimPrefix(from, "new"))
	n, _ := strconv.Atoi(limit)
	end := min(start+n, len(all))
	meta := map[string]any{}
	if end < len(all) {
		meta = map[string]any{"continue": strconv.Itoa(end), "remainingItemCount": len(all) - end}
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "List", "apiVersion": "v1", "metadata": meta, "items": all[start:end]})
}

func status(w http.ResponseWriter, code int, reason, next string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": reason, "metadata": map[string]any{"continue": next}})
}
