// SPDX-License-Identifier: Apache-2.0

package webui

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
)

func ask(t *testing.T, h http.Handler, target string, header map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func page(t *testing.T) http.Handler {
	t.Helper()
	h, err := Handler()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestFilesAreServed: each with its type, the policy and a tag that answers the next
// request without a body, compressed where the browser takes it.
func TestFilesAreServed(t *testing.T) {
	h := page(t)
	for target, kind := range map[string]string{
		"/ui/": "text/html; charset=utf-8", "/ui/js/app.js": "text/javascript; charset=utf-8", "/ui/app.css": "text/css; charset=utf-8",
		"/ui/messages.json": "application/json", "/ui/icon.svg": "image/svg+xml", "/ui/vendor/SHA256SUMS": "text/plain; charset=utf-8",
	} {
		resp := ask(t, h, target, nil)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != kind || resp.Header.Get("Content-Security-Policy") != Policy || resp.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %s %v", target, resp.Status, resp.Header)
		}
		again := ask(t, h, target, map[string]string{"If-None-Match": resp.Header.Get("ETag")})
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s asked again: %s", target, again.Status)
		}
	}
	plain, _ := io.ReadAll(ask(t, h, "/ui/js/app.js", nil).Body)
	small := ask(t, h, "/ui/js/app.js", map[string]string{"Accept-Encoding": "gzip"})
	z, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(z); err != nil || string(text) != string(plain) {
		t.Errorf("compressed is another file: %v", err)
	}
	for _, target := range []string{"/ui/nothing.js", "/ui/../webui.go", "/ui/js/"} {
		if resp := ask(t, h, target, nil); resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %s", target, resp.Status)
		}
	}
}

// TestOnlyBrowsersAreLed: the root leads browsers to the page, and programs where they
// went before.
func TestOnlyBrowsersAreLed(t *testing.T) {
	h := Home(http.NotFoundHandler())
	if resp := ask(t, h, "/", map[string]string{"Accept": "text/html,*/*"}); resp.Header.Get("Location") != Prefix {
		t.Errorf("a browser: %s", resp.Status)
	}
	for target, accept := range map[string]string{"/": "application/json", "/api/v1/status": "text/html"} {
		if resp := ask(t, h, target, map[string]string{"Accept": accept}); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s with %s: %s", target, accept, resp.Status)
		}
	}
}

// TestLibrariesAreAsPublished: every file of the libraries has the sum that is
// committed beside it, and has its licence there.
func TestLibrariesAreAsPublished(t *testing.T) {
	sums, err := static.ReadFile("static/vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for sc := bufio.NewScanner(strings.NewReader(string(sums))); sc.Scan(); {
		sum, name, _ := strings.Cut(sc.Text(), "  ")
		want[name] = sum
	}
	seen := 0
	each(t, "static/vendor", func(name, text string) {
		if path.Base(name) == "SHA256SUMS" {
			return
		}
		seen++
		sum := sha256.Sum256([]byte(text))
		if want[path.Base(name)] != hex.EncodeToString(sum[:]) {
			t.Errorf("%s is not what was published", name)
		}
	})
	if seen != len(want) {
		t.Errorf("%d files, %d sums", seen, len(want))
	}
	for _, l := range []string{"htm", "preact", "uplot"} {
		if want[l+".LICENSE"] == "" {
			t.Errorf("%s has no licence here", l)
		}
	}
}

// each hands out the files below a folder.
func each(t *testing.T, dir string, f func(name, text string)) {
	t.Helper()
	err := fs.WalkDir(static, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		f(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestModulesAreAskedForAtOnce: the page names every module that it will want, so that a
// browser need not read one to learn of the next. What is drawn with the large library
// of plots fetches it then.
func TestModulesAreAskedForAtOnce(t *testing.T) {
	index, err := static.ReadFile("static/index.html")
	if err != nil {
		t.Fatal(err)
	}
	var named, want []string
	for _, m := range regexp.MustCompile(`<link rel="modulepreload" href="([^"]+)">`).FindAllStringSubmatch(string(index), -1) {
		named = append(named, m[1])
	}
	each(t, "static", func(name, _ string) {
		if name = strings.TrimPrefix(name, "static/"); strings.HasSuffix(name, ".js") && name != "js/app.js" && !strings.HasPrefix(name, "vendor/uplot-") {
			want = append(want, name)
		}
	})
	slices.Sort(named)
	slices.Sort(want)
	if !slices.Equal(named, want) {
		t.Errorf("index.html names\n%s\nand there are\n%s", strings.Join(named, "\n"), strings.Join(want, "\n"))
	}
}

// TestNothingInline: the policy forbids styles and scripts within the page, and other
// servers.
func TestNothingInline(t *testing.T) {
	each(t, "static", func(name, text string) {
		if strings.Contains(name, "/vendor/") {
			return
		}
		for what, pattern := range map[string]string{
			"a style attribute": `\sstyle="`, "an inline script": `<script>`, "a handler": `\son[a-z]+="`, "another server": `(src|href)="https?://`, "code from text": `\beval\(|new Function\(`,
		} {
			if regexp.MustCompile(pattern).MatchString(text) {
				t.Errorf("%s has %s", name, what)
			}
		}
		if strings.HasSuffix(name, ".js") && !strings.HasPrefix(text, "// SPDX-License-Identifier: Apache-2.0\n") {
			t.Errorf("%s has no licence line", name)
		}
		if n := strings.Count(text, "\n"); n > 400 && !strings.HasSuffix(name, ".json") {
			t.Errorf("%s has %d lines", name, n)
		}
	})
}

// TestMessages: every text is there in both languages with the same values to fill in;
// every key that code names exists, and no key is left over.
func TestMessages(t *testing.T) {
	text, err := static.ReadFile("static/messages.json")
	if err != nil {
		t.Fatal(err)
	}
	var messages map[string]map[string]string
	if err := json.Unmarshal(text, &messages); err != nil {
		t.Fatal(err)
	}
	hole := regexp.MustCompile(`\{\w+\}`)
	for key, m := range messages {
		if m["en"] == "" || m["zh"] == "" || len(m) != 2 {
			t.Errorf("%s: %v", key, m)
		}
		if en, zh := holes(hole, m["en"]), holes(hole, m["zh"]); en != zh {
			t.Errorf("%s: %s in English, %s in Chinese", key, en, zh)
		}
	}
	for code, text := range attribution.Sentences {
		if m := messages["fact."+code]; m["en"] != text {
			t.Errorf("fact.%s: %q, findings say %q", code, m["en"], text)
		}
	}
	for _, code := range advice.Wording.Codes() {
		if m := messages["says."+code]; m["en"] != advice.Wording.English(code) {
			t.Errorf("says.%s: %q, advice says %q", code, m["en"], advice.Wording.English(code))
		}
	}
	for _, code := range []string{v1.CodeInvalid, v1.CodeUnauthorized, v1.CodeForbidden, v1.CodeNotFound, v1.CodeTooLarge, v1.CodeBusy, v1.CodeInternal, v1.CodeRefused} {
		if key := "trouble." + code; messages[key] == nil || messages[key+".do"] == nil {
			t.Errorf("%s: a page can meet it, and has no words for it and for what to do", key)
		}
	}
	var code strings.Builder
	each(t, "static/js", func(_, text string) { code.WriteString(text) })
	quoted := map[string]bool{}
	for _, m := range regexp.MustCompile(`'([a-z][\w.:/-]*(?: [a-z ]+)?)'`).FindAllStringSubmatch(code.String(), -1) {
		quoted[m[1]] = true
	}
	for _, m := range regexp.MustCompile(`\bt\('([^']+)'(,|\))`).FindAllStringSubmatch(code.String(), -1) {
		if messages[m[1]] == nil {
			t.Errorf("t('%s'): there is no such text", m[1])
		}
	}
	var prefixes []string
	for _, m := range regexp.MustCompile(`'([a-z]+\.)' \+|\bnamed\('([a-z]+\.)'`).FindAllStringSubmatch(code.String(), -1) {
		prefixes = append(prefixes, m[1]+m[2])
	}
	for key := range messages {
		used := quoted[key]
		for _, p := range prefixes {
			used = used || strings.HasPrefix(key, p)
		}
		if !used {
			t.Errorf("%s is used nowhere", key)
		}
	}
}

func holes(pattern *regexp.Regexp, text string) string {
	seen := map[string]bool{}
	var out []string
	for _, h := range pattern.FindAllString(text, -1) {
		if !seen[h] {
			seen[h] = true
			out = append(out, h)
		}
	}
	slices.Sort(out) // the languages may have them in another order
	return strings.Join(out, " ")
}
