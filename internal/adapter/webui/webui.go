// SPDX-License-Identifier: Apache-2.0

package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// Prefix is where the page is.
const Prefix = "/ui/"

// Policy is what a browser may do with the page: load scripts, styles and data from
// this server, and nothing from anywhere else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

//go:embed static
var static embed.FS

// kinds are the types of files by their endings. The system's table is not asked: it
// differs between machines.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".json": "application/json", ".svg": "image/svg+xml", ".LICENSE": "text/plain; charset=utf-8", "": "text/plain; charset=utf-8",
}

// file is one as it is sent.
type file struct {
	kind, tag    string
	plain, small []byte // small is compressed; nil where that gains nothing
}

// Handler serves the page under Prefix. It fails only where a file is of no known
// kind, which a test would have found.
func Handler() (http.Handler, error) {
	files := map[string]*file{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := read(name)
		files[strings.TrimPrefix(name, "static/")] = f
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the files of the web page: %w", err)
	}
	files[""] = files["index.html"]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(files, w, r) }), nil
}

func read(name string) (*file, error) {
	text, err := static.ReadFile(name)
	if err != nil {
		return nil, err
	}
	kind, ok := kinds[path.Ext(name)]
	if !ok {
		return nil, fmt.Errorf("%s is of no known kind", name)
	}
	sum := sha256.Sum256(text)
	f := &file{kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`, plain: text}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is one
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	if b.Len() < len(text)*9/10 {
		f.small = b.Bytes()
	}
	return f, nil
}

func serve(files map[string]*file, w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "the page can only be read", http.StatusMethodNotAllowed)
		return
	}
	f := files[strings.TrimPrefix(r.URL.Path, Prefix)]
	if f == nil {
		http.Error(w, "there is no such file; the page is at "+Prefix, http.StatusNotFound)
		return
	}
	send(f, w, r)
}

func send(f *file, w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // ask each time: the tag says whether it changed
	h.Set("Vary", "Accept-Encoding")
	text, tag := f.plain, f.tag
	if f.small != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		text, tag = f.small, strings.TrimSuffix(f.tag, `"`)+`-gz"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(text) // a client that left asks again
	}
}

// Home leads a browser that asks for the root to the page. Every other request goes
// on: to programs, the server looks as it did without a page.
func Home(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html") {
			http.Redirect(w, r, Prefix, http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}
