// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// Auth says whether a request may go on, and for whom it may speak. Its errors are
// *access.Denied, or *journal.Busy where that cannot be said now.
type Auth interface {
	Authorize(r *http.Request) (access.Sender, error)
}

// TokenFile lets pass who has one of the bearer tokens in a file, one a line. The
// file is read for every request, so a token that is changed counts at once; two
// lines let its users change over one by one.
type TokenFile struct {
	Path string
	// Clusters lets a line have a second word: the one cluster that the token's
	// records may name.
	Clusters bool
}

// minToken bounds a token from below, in bytes: shorter ones can be guessed.
const minToken = 16

// NewTokenFile reads a file of TOKEN lines once, to find mistakes at the start.
func NewTokenFile(path string) (*TokenFile, error) { return newTokenFile(path, false) }

// NewAgentTokenFile is NewTokenFile for lines of TOKEN or TOKEN CLUSTER.
func NewAgentTokenFile(path string) (*TokenFile, error) { return newTokenFile(path, true) }

func newTokenFile(path string, clusters bool) (*TokenFile, error) {
	f := &TokenFile{Path: path, Clusters: clusters}
	lines, err := f.lines()
	if err != nil {
		return nil, err
	}
	for i, l := range lines {
		if len(l.token) < minToken {
			return nil, fmt.Errorf("token file %s: token %d has %d bytes: use at least %d, as from `openssl rand -hex 32`", path, i+1, len(l.token), minToken)
		}
	}
	return f, nil
}

// tokenLine is a token, and the cluster it is bound to, if any.
type tokenLine struct{ token, cluster string }

func (f *TokenFile) lines() (out []tokenLine, err error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read token file: %w", err)
	}
	n := 0
	for text := range strings.Lines(string(data)) {
		n++
		words := strings.Fields(text)
		switch {
		case len(words) == 0:
			continue
		case len(words) == 1:
			out = append(out, tokenLine{token: words[0]})
		case len(words) == 2 && f.Clusters:
			out = append(out, tokenLine{words[0], words[1]})
		case f.Clusters:
			return nil, fmt.Errorf("token file %s: line %d has %d words: write TOKEN, or TOKEN CLUSTER", f.Path, n, len(words))
		default:
			return nil, fmt.Errorf("token file %s: line %d has %d words: write one token a line", f.Path, n, len(words))
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("token file %s has no token", f.Path)
	}
	return out, nil
}

// Authorize lets pass who gives one of the tokens.
func (f *TokenFile) Authorize(r *http.Request) (access.Sender, error) {
	token, err := Bearer(r)
	if err != nil {
		return access.Sender{}, &access.Denied{Why: err.Error(), Hint: "send Authorization: Bearer TOKEN"}
	}
	sender, ok, err := f.Find(token)
	if err == nil && !ok {
		err = &access.Denied{Why: "the bearer token is none of the server's", Hint: "give a token that the server was given"}
	}
	return sender, err
}

// Find looks for a token, in constant time for each that there is. Its error is a
// *journal.Busy: whoever has a right token did nothing wrong.
func (f *TokenFile) Find(token string) (sender access.Sender, ok bool, err error) {
	lines, err := f.lines()
	if err != nil {
		return sender, false, &journal.Busy{After: 10 * time.Second, Why: "the server cannot read its tokens"}
	}
	sum := sha256.Sum256([]byte(token))
	for _, l := range lines {
		want := sha256.Sum256([]byte(l.token))
		if subtle.ConstantTimeCompare(sum[:], want[:]) == 0 {
			continue
		}
		sender, ok = access.Sender{Name: "a token of the server's file"}, true
		if l.cluster != "" {
			sender.Cluster = &l.cluster
		}
	}
	return sender, ok, nil
}

var errNoBearer = errors.New("no bearer token")

// Bearer is the token of a request. The scheme's name may have any case (RFC 9110,
// 11.1).
func Bearer(r *http.Request) (string, error) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", errNoBearer
	}
	return token, nil
}
