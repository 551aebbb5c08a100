// SPDX-License-Identifier: Apache-2.0

// Package reviews stands in for a Kubernetes API server in unit tests: it answers
// TokenReviews and SubjectAccessReviews over HTTP in their own shapes, by the rules
// that the real one has for audiences. It knows only what a test tells it. The real
// API server answers in test/cluster (scenario who-may).
package reviews

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Default is the audience of the API server itself.
const Default = "https://kubernetes.default.svc"

// Token is what the server knows of a token.
type Token struct {
	User      string
	Groups    []string
	Extra     map[string]authn.ExtraValue
	Audiences []string // Default alone where nil
}

// Server is the stand-in.
type Server struct {
	mu      sync.Mutex
	tokens  map[string]Token
	allowed map[string]bool // "USER VERB PATH"
	refuses bool            // every review, as for a client without the right to make one
	deaf    bool            // answers for its own audience, whatever is asked
	asked   map[string]int  // reviews by resource
	hold    chan struct{}   // reviews wait for it
	http    *httptest.Server
}

// New starts one. It ends with the test.
func New(t *testing.T) *Server {
	s := &Server{tokens: map[string]Token{}, allowed: map[string]bool{}, asked: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/tokenreviews", func(w http.ResponseWriter, r *http.Request) { answer(s, w, r, "tokenreviews", s.review) })
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/subjectaccessreviews", func(w http.ResponseWriter, r *http.Request) {
		answer(s, w, r, "subjectaccessreviews", s.access)
	})
	s.http = httptest.NewServer(mux)
	t.Cleanup(s.http.Close)
	return s
}

// Config leads a client there.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL} }

// URL is its address.
func (s *Server) URL() string { return s.http.URL }

// Down ends it: nobody answers any more.
func (s *Server) Down() { s.http.Close() }

// Know makes a token known; a zero Token takes it away.
func (s *Server) Know(token string, t Token) {
	s.change(func() {
		if t.User == "" {
			delete(s.tokens, token)
			return
		}
		s.tokens[token] = t
	})
}

// Allow lets a user do a verb on a path.
func (s *Server) Allow(user, verb, path string) {
	s.change(func() { s.allowed[user+" "+verb+" "+path] = true })
}

// Refuse has it refuse to review anything, or no longer.
func (s *Server) Refuse(yes bool) { s.change(func() { s.refuses = yes }) }

// Deaf has it leave audiences out of account, as an API server without them does.
func (s *Server) Deaf() { s.change(func() { s.deaf = true }) }

// Hold has reviews wait until the channel that it returns is closed.
func (s *Server) Hold() chan struct{} {
	c := make(chan struct{})
	s.change(func() { s.hold = c })
	return c
}

// Asked is how many reviews of a resource there were.
func (s *Server) Asked(resource string) (n int) {
	s.change(func() { n = s.asked[resource] })
	return n
}

func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// answer decodes a review, has it answered, and sends it back.
func answer[T any](s *Server, w http.ResponseWriter, r *http.Request, resource string, f func(*T)) {
	var hold chan struct{}
	refuses := false
	s.change(func() { s.asked[resource]++; hold, refuses = s.hold, s.refuses })
	if hold != nil {
		<-hold
	}
	w.Header().Set("Content-Type", "application/json")
	if refuses {
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Message: resource + " is forbidden", Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden})
		return
	}
	var review T
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.change(func() { f(&review) })
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

func (s *Server) review(r *authn.TokenReview) {
	t, known := s.tokens[r.Spec.Token]
	asked, has := r.Spec.Audiences, t.Audiences
	if len(asked) == 0 {
		asked = []string{Default}
	}
	if len(has) == 0 {
		has = []string{Default}
	}
	both := slices.DeleteFunc(slices.Clone(asked), func(a string) bool { return !slices.Contains(has, a) })
	if s.deaf {
		both = nil
	}
	if !known || len(both) == 0 && !s.deaf {
		r.Status = authn.TokenReviewStatus{Error: "invalid bearer token"}
		return
	}
	r.Status = authn.TokenReviewStatus{Authenticated: true, Audiences: both, User: authn.UserInfo{Username: t.User, Groups: t.Groups, Extra: t.Extra}}
}

func (s *Server) access(r *authz.SubjectAccessReview) {
	if a := r.Spec.NonResourceAttributes; a != nil {
		r.Status.Allowed = s.allowed[r.Spec.User+" "+a.Verb+" "+a.Path]
	}
}
