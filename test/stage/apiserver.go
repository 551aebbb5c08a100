// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// APIServer speaks as much of the Kubernetes API as a node agent asks for: list
// and watch of pods, nodes and ResourceSlices, and reads of single objects.
// Lists of pods and slices are narrowed by spec.nodeName, nodes by their name.
type APIServer struct {
	// Address is its host and port.
	Address string

	server *http.Server
	mu     sync.Mutex
	// version counts changes; log has all of them, so a watch can begin at any.
	version int
	objects map[string]object
	log     []change
	changed chan struct{}
	ended   chan struct{}
}

// object is an API object as JSON has it.
type object = map[string]any

type change struct {
	version int
	kind    string // ADDED, MODIFIED, DELETED
	path    string
	object  object
}

// collections are the lists that are served, with what their items are.
var collections = map[string]struct{ api, kind string }{
	"/api/v1/pods":  {"v1", "Pod"},
	"/api/v1/nodes": {"v1", "Node"},
	"/apis/resource.k8s.io/v1/resourceslices": {"resource.k8s.io/v1", "ResourceSlice"},
}

func startAPIServer() (*APIServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start API server stand-in: %w", err)
	}
	s := &APIServer{
		Address: l.Addr().String(), objects: map[string]object{},
		changed: make(chan struct{}), ended: make(chan struct{}),
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(l) }() // ends with stop
	return s, nil
}

func (s *APIServer) stop() {
	close(s.ended)
	_ = s.server.Close()
}

// Put stores an object (any of the Kubernetes API types) under its path, as in
// /api/v1/namespaces/default/pods/a or /api/v1/nodes/n.
func (s *APIServer) Put(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	var o object
	if err := json.Unmarshal(text, &o); err != nil {
		return fmt.Errorf("store %s: %w", path, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if s.objects[path] != nil {
		kind = "MODIFIED"
	}
	s.note(kind, path, o)
	s.objects[path] = o
	return nil
}

// Delete removes an object.
func (s *APIServer) Delete(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[path]; o != nil {
		delete(s.objects, path)
		gone := object{}
		for k, v := range o {
			gone[k] = v
		}
		s.note("DELETED", path, gone)
	}
}

// note counts a change and wakes the watches. The lock is held.
func (s *APIServer) note(kind, path string, o object) {
	s.version++
	meta := object{}
	if old, ok := o["metadata"].(object); ok {
		for k, v := range old {
			meta[k] = v
		}
	}
	meta["resourceVersion"] = strconv.Itoa(s.version)
	o["metadata"] = meta
	s.log = append(s.log, change{s.version, kind, path, o})
	close(s.changed)
	s.changed = make(chan struct{})
}

// ServeHTTP answers reads; there is nothing to write here.
func (s *APIServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if _, ok := collections[path]; ok {
		if r.URL.Query().Get("watch") != "" {
			s.watch(w, r)
			return
		}
		s.list(w, r)
		return
	}
	s.mu.Lock()
	o := s.objects[path]
	s.mu.Unlock()
	switch {
	case o != nil:
		answer(w, http.StatusOK, o)
	case path == "/apis/resource.k8s.io":
		answer(w, http.StatusOK, object{"kind": "APIGroup", "apiVersion": "v1", "name": "resource.k8s.io",
			"versions": []object{{"groupVersion": "resource.k8s.io/v1", "version": "v1"}}})
	default:
		answer(w, http.StatusNotFound, object{"kind": "Status", "apiVersion": "v1", "status": "Failure",
			"reason": "NotFound", "code": http.StatusNotFound, "message": path + " not found"})
	}
}

func (s *APIServer) list(w http.ResponseWriter, r *http.Request) {
	c := collections[r.URL.Path]
	s.mu.Lock()
	items := []object{}
	for _, path := range sortedPaths(s.objects) {
		if inCollection(path, r.URL.Path) && selected(s.objects[path], r) {
			items = append(items, s.objects[path])
		}
	}
	version := strconv.Itoa(s.version)
	s.mu.Unlock()
	answer(w, http.StatusOK, object{
		"apiVersion": c.api, "kind": c.kind + "List", "metadata": object{"resourceVersion": version}, "items": items,
	})
}

// watch sends the changes after a resourceVersion, until the client leaves.
func (s *APIServer) watch(w http.ResponseWriter, r *http.Request) {
	at, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	w.Header().Set("Content-Type", "application/json")
	flush := http.NewResponseController(w)
	enc := json.NewEncoder(w)
	for {
		s.mu.Lock()
		changes, changed := slices.Clone(s.log[min(at, len(s.log)):]), s.changed
		s.mu.Unlock()
		for _, c := range changes {
			at = c.version
			if inCollection(c.path, r.URL.Path) && selected(c.object, r) {
				if enc.Encode(object{"type": c.kind, "object": c.object}) != nil {
					return
				}
			}
		}
		_ = flush.Flush()
		select {
		case <-r.Context().Done():
			return
		case <-s.ended:
			return
		case <-changed:
		}
	}
}

// inCollection reports whether an object's path is of a list over all namespaces.
func inCollection(path, list string) bool {
	base, kind := list[:strings.LastIndexByte(list, '/')], list[strings.LastIndexByte(list, '/'):]
	rest, ok := strings.CutPrefix(path, base)
	return ok && (strings.HasPrefix(rest, kind+"/") || strings.HasPrefix(rest, "/namespaces/") && strings.Contains(rest, kind+"/"))
}

// selected applies the field selector of a request.
func selected(o object, r *http.Request) bool {
	selector := r.URL.Query().Get("fieldSelector")
	if selector == "" {
		return true
	}
	field, want, _ := strings.Cut(selector, "=")
	part, name, _ := strings.Cut(field, ".")
	section, _ := o[part].(object)
	got, _ := section[name].(string)
	return got == want
}

func sortedPaths(objects map[string]object) []string {
	var out []string
	for path := range objects {
		out = append(out, path)
	}
	slices.Sort(out)
	return out
}

func answer(w http.ResponseWriter, code int, o object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o) // a client that left is not our trouble
}
