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
)

// Auth says whether a request may go on. Its error is told to the client: it
// says what is missing, never what would be right.
type Auth interface {
	Authorize(r *http.Request) error
}

// TokenFile lets pass who has one of the bearer tokens in a file, one a line.
// The file is read for every request, so a token that is changed counts at once;
// two lines let agents change over one by one.
type TokenFile struct{ Path string }

// minToken bounds a token from below, in bytes: shorter ones can be guessed.
const minToken = 16

// NewTokenFile reads the file once, to find mistakes at the start.
func NewTokenFile(path string) (*TokenFile, error) {
	f := &TokenFile{Path: path}
	tokens, err := f.tokens()
	if err != nil {
		return nil, err
	}
	for i, t := range tokens {
		if len(t) < minToken {
			return nil, fmt.Errorf("token file %s: token %d has %d bytes: use at least %d, as from `openssl rand -hex 32`", path, i+1, len(t), minToken)
		}
	}
	return f, nil
}

func (f *TokenFile) tokens() ([]string, error) {
	data, err := os.ReadFile(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read token file: %w", err)
	}
	tokens := strings.Fields(string(data))
	if len(tokens) == 0 {
		return nil, fmt.Errorf("token file %s has no token", f.Path)
	}
	return tokens, nil
}

// Authorize compares in constant time.
func (f *TokenFile) Authorize(r *http.Request) error {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || given == "" {
		return errors.New("no bearer token")
	}
	tokens, err := f.tokens()
	if err != nil {
		return errors.New("the server cannot read its tokens")
	}
	sum, match := sha256.Sum256([]byte(given)), 0
	for _, t := range tokens {
		want := sha256.Sum256([]byte(t))
		match |= subtle.ConstantTimeCompare(sum[:], want[:])
	}
	if match == 0 {
		return errors.New("the bearer token is none of the server's")
	}
	return nil
}
