// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// compressed serves a page compressed to who accepts that, at the level that
// costs least: the text of metrics becomes a tenth at any level, and the
// default of the Prometheus library takes three times the CPU for it.
func compressed(page http.Handler) http.Handler {
	writers := sync.Pool{New: func() any {
		w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil {
			panic(err) // BestSpeed is a level
		}
		return w
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Vary", "Accept-Encoding")
		if !acceptsGzip(r.Header.Get("Accept-Encoding")) {
			page.ServeHTTP(w, r)
			return
		}
		z := writers.Get().(*gzip.Writer)
		defer writers.Put(z)
		z.Reset(w)
		w.Header().Set("Content-Encoding", "gzip")
		c := &compressing{ResponseWriter: w, gzip: z}
		page.ServeHTTP(c, r)
		if !c.plain {
			_ = z.Close() // a client that left is not our trouble
		}
	})
}

// compressing is a response whose body is compressed, unless the page takes
// back that it is, as pages of errors do.
type compressing struct {
	http.ResponseWriter
	gzip         *gzip.Writer
	begun, plain bool
}

func (c *compressing) WriteHeader(status int) {
	c.begun = true
	c.plain = c.Header().Get("Content-Encoding") != "gzip"
	c.ResponseWriter.WriteHeader(status)
}

func (c *compressing) Write(p []byte) (int, error) {
	if !c.begun {
		c.WriteHeader(http.StatusOK)
	}
	if c.plain {
		return c.ResponseWriter.Write(p)
	}
	return c.gzip.Write(p)
}

// acceptsGzip reads an Accept-Encoding header: a list of encodings with their
// weights, where a weight of 0 means not at all (RFC 9110, section 12.5.3).
func acceptsGzip(header string) bool {
	any := false
	for entry := range strings.SplitSeq(header, ",") {
		encoding, params, _ := strings.Cut(entry, ";")
		ok := true
		if q, found := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(params), " ", ""), "q="); found {
			weight, err := strconv.ParseFloat(q, 64)
			ok = err == nil && weight > 0
		}
		switch strings.ToLower(strings.TrimSpace(encoding)) {
		case "gzip", "x-gzip":
			return ok
		case "*":
			any = ok
		}
	}
	return any
}
