// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// object is an API object as a test writes it.
type object = map[string]any

// apiServer is an HTTP server that speaks as much of the Kubernetes API as the
// cache uses: list and watch with field selectors, and reads of one object.
type apiServer struct {
	t    *testing.T
	addr string

	mu       sync.Mutex
	version  int                 // of the whole store
	oldest   int                 // the version from which log is whole
	log      []event             // what happened since, to watch from
	objects  map[string]object   // by path
	refused  map[string]bool     // path prefixes that answer 403
	watchers map[chan event]bool // with what they watch
	watching map[chan event]string
	requests []string
	http     *httptest.Server
}

type event struct {
	version int
	path    string
	kind    string
	object  object
}

func newAPIServer(t *testing.T) *apiServer {
	s := &apiServer{
		t: t, version: 1, objects: map[string]object{}, refused: map[string]bool{},
		watchers: map[chan event]bool{}, watching: map[chan event]string{},
	}
	s.up()
	t.Cleanup(s.down)
	return s
}

// up starts to listen, at the same address as before.
func (s *apiServer) up() {
	addr := s.addr
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	var listener net.Listener
	for listener == nil {
		l, err := net.Listen("tcp", addr)
		if err != nil && s.addr == "" {
			s.t.Fatal(err)
		}
		listener = l
	}
	s.addr = listener.Addr().String()
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: s}}
	s.http.Start()
}

// down closes the listener and every connection: an outage.
func (s *apiServer) down() {
	s.http.Listener.Close()
	s.http.CloseClientConnections()
	s.mu.Lock()
	for w := range s.watchers {
		close(w)
		delete(s.watchers, w)
	}
	s.mu.Unlock()
	s.http.Close()
}

func (s *apiServer) config() *rest.Config { return &rest.Config{Host: "http://" + s.addr} }

// put stores an object under a path and tells who watches it.
func (s *apiServer) put(path string, o object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "ADDED"
	if _, ok := s.objects[path]; ok {
		kind = "MODIFIED"
	}
	s.version++
	meta := maps.Clone(o["metadata"].(object))
	meta["resourceVersion"] = strconv.Itoa(s.version)
	o["metadata"] = meta
	s.objects[path] = o
	s.tell(event{s.version, path, kind, o})
}

func (s *apiServer) remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := maps.Clone(s.objects[path])
	delete(s.objects, path)
	s.version++
	meta := maps.Clone(o["metadata"].(object))
	meta["resourceVersion"] = strconv.Itoa(s.version)
	o["metadata"] = meta
	s.tell(event{s.version, path, "DELETED", o})
}

// loseHistory is a change that no watch will tell of: watches from before it
// are too old.
func (s *apiServer) loseHistory(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.version++
	s.oldest, s.log = s.version, nil
}

func (s *apiServer) tell(e event) {
	s.log = append(s.log, e)
	for w := range s.watchers {
		if strings.HasPrefix(e.path, s.watching[w]) {
			w <- e
		}
	}
}

func (s *apiServer) forbid(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[prefix] = true
}

// seen counts the requests that contain a text.
func (s *apiServer) seen(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if strings.Contains(r, text) {
			n++
		}
	}
	return n
}

// lists are the collections, their item's apiVersion and kind, and the field
// selector that a request for them must have.
var lists = map[string][3]string{
	"/api/v1/pods":  {"v1", "Pod", "spec.nodeName=node-a"},
	"/api/v1/nodes": {"v1", "Node", "metadata.name=node-a"},
	"/apis/resource.k8s.io/v1/resourceslices":      {"resource.k8s.io/v1", "ResourceSlice", "spec.nodeName=node-a"},
	"/apis/resource.k8s.io/v1beta1/resourceslices": {"resource.k8s.io/v1beta1", "ResourceSlice", "spec.nodeName=node-a"},
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	s.mu.Lock()
	s.requests = append(s.requests, r.Method+" "+r.URL.String()+" "+r.Header.Get("Accept"))
	for prefix := range s.refused {
		if strings.HasPrefix(path, prefix) {
			s.mu.Unlock()
			refuse(w, http.StatusForbidden, "Forbidden", path+" is forbidden")
			return
		}
	}
	if o, ok := s.objects[path]; ok {
		defer s.mu.Unlock()
		answer(w, o)
		return
	}
	list, ok := lists[path]
	if !ok || strings.Contains(path, "resource.k8s.io") && s.objects["/apis/resource.k8s.io"] == nil {
		s.mu.Unlock()
		refuse(w, http.StatusNotFound, "NotFound", path+" not found")
		return
	}
	if got := r.URL.Query().Get("fieldSelector"); got != list[2] {
		s.t.Errorf("%s with field selector %q, want %q", path, got, list[2])
	}
	if r.URL.Query().Get("watch") != "" {
		s.watch(w, r, path, list) // unlocks
		return
	}
	defer s.mu.Unlock()
	items := []object{}
	for p, o := range s.objects {
		if strings.HasPrefix(p, path+"/") {
			items = append(items, o)
		}
	}
	answer(w, object{
		"apiVersion": list[0], "kind": list[1] + "List", "items": items,
		"metadata": object{"resourceVersion": strconv.Itoa(s.version)},
	})
}

func (s *apiServer) watch(w http.ResponseWriter, r *http.Request, path string, list [3]string) {
	from, err := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	if err != nil || from < s.oldest {
		s.mu.Unlock()
		answer(w, object{"type": "ERROR", "object": object{
			"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": http.StatusGone, "reason": "Expired", "message": "too old",
		}})
		return
	}
	events := make(chan event, 1000)
	for _, e := range s.log {
		if e.version > from && strings.HasPrefix(e.path, path+"/") {
			events <- e
		}
	}
	s.watchers[events], s.watching[events] = true, path+"/"
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.watchers, events)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-events:
			if !ok {
				return
			}
			typed := maps.Clone(e.object)
			typed["apiVersion"], typed["kind"] = list[0], list[1]
			_ = json.NewEncoder(w).Encode(object{"type": e.kind, "object": typed})
			w.(http.Flusher).Flush()
		}
	}
}

func answer(w http.ResponseWriter, o object) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(o)
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object{
		"apiVersion": "v1", "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}

// serveResource makes the server serve resource.k8s.io in these versions.
func (s *apiServer) serveResource(versions ...string) {
	var all []object
	for _, v := range versions {
		all = append(all, object{"groupVersion": "resource.k8s.io/" + v, "version": v})
	}
	s.put("/apis/resource.k8s.io", object{"kind": "APIGroup", "name": "resource.k8s.io", "versions": all, "metadata": object{}})
}

// fields builds an object of alternating keys and values.
func fields(kv ...any) object {
	o := object{}
	for i := 0; i < len(kv); i += 2 {
		o[kv[i].(string)] = kv[i+1]
	}
	return o
}

func controller(api, kind, name, uid string) []object {
	return []object{{"apiVersion": api, "kind": kind, "name": name, "uid": uid, "controller": true}}
}

func (s *apiServer) pod(name, uid string, metadata, spec, status object) {
	meta := fields("namespace", "default", "name", name, "uid", uid)
	for k, v := range metadata {
		meta[k] = v
	}
	full := fields("nodeName", "node-a", "containers", []object{{"name": "c"}})
	for k, v := range spec {
		full[k] = v
	}
	if status == nil {
		status = object{"phase": "Running"}
	}
	s.put("/api/v1/pods/"+name, object{"metadata": meta, "spec": full, "status": status})
}

// owner serves an object's metadata.
func (s *apiServer) owner(api, plural, name, uid string, refs []object) {
	s.put("/apis/"+api+"/namespaces/default/"+plural+"/"+name, object{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
		"metadata": object{"name": name, "namespace": "default", "uid": uid, "ownerReferences": refs},
	})
}

// eventually waits for a condition that the cache reaches in its own time.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if condition() {
			return
		}
	}
	t.Fatal(fmt.Sprint("never: ", what))
}
