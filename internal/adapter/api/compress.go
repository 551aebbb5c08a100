// SPDX-License-Identifier: Apache-2.0

package api

import (
	"compress/gzip"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// days is a time in whole days, as text.
func days(d time.Duration) string { return strconv.Itoa(int(d / (24 * time.Hour))) }

// compressed is where the answer of a large question goes: through gzip, where the
// client takes that. Exports go as they are: their trailers and their cutting off
// must reach the client unchanged.
func compressed(w http.ResponseWriter, r *http.Request) (out http.ResponseWriter, finish func()) {
	path := strings.TrimPrefix(r.URL.Path, Prefix)
	large := path == "/fleet" || path == "/findings" || path == "/report" || strings.HasSuffix(path, "/timeline")
	if !large || r.Method != http.MethodGet || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return w, func() {}
	}
	c := &zipped{ResponseWriter: w}
	return c, c.finish
}

// zipped compresses what is written, from the first byte on.
type zipped struct {
	http.ResponseWriter
	zip *gzip.Writer
}

// WriteHeader sends the header of a compressed answer.
func (z *zipped) WriteHeader(status int) {
	if z.zip == nil && status != http.StatusNoContent && status != http.StatusNotModified {
		h := z.Header()
		h.Del("Content-Length")
		h.Set("Content-Encoding", "gzip")
		h.Add("Vary", "Accept-Encoding")
		z.zip, _ = gzip.NewWriterLevel(z.ResponseWriter, gzip.BestSpeed) // the level is one
	}
	z.ResponseWriter.WriteHeader(status)
}

// Write compresses.
func (z *zipped) Write(p []byte) (int, error) {
	if z.zip == nil {
		z.WriteHeader(http.StatusOK)
	}
	return z.zip.Write(p)
}

// Unwrap is for http.ResponseController.
func (z *zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }

func (z *zipped) finish() {
	if z.zip != nil {
		_ = z.zip.Close() // a client that left asks again
	}
}
