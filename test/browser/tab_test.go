// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

//go:embed testdata/axe-4.14.1.min.js
var axe string

// tab is a browser's, with what went wrong in it.
type tab struct {
	ctx  context.Context
	host string

	mu    sync.Mutex
	wrong []string
	// quiet is what the test brings about itself, such as a request without a token.
	quiet string
}

// open starts a browser for the pages of a server.
func open(t *testing.T, server string) *tab {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("NO BROWSER: the web page is not looked at. On Debian or Ubuntu: sudo apt-get install -y --no-install-recommends chromium")
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WindowSize(1440, 900))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(end)
	ctx, end = chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &tab{ctx: ctx, host: u.Host}
	if err := chromedp.Listen(ctx, b.event); err != nil {
		t.Fatal(err)
	}
	return b
}

// event keeps what must not be: errors, what the policy forbids, other servers.
func (b *tab) event(e any) {
	said := ""
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		said = fmt.Sprintf("exception: %+v", e.ExceptionDetails)
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			said = "console: "
			for _, a := range e.Args {
				said += a.Description + string(a.Value) + " "
			}
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" || e.Entry.Level == "warning" {
			said = "log: " + e.Entry.Text + " " + e.Entry.URL
		}
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "blob" && u.Host != b.host {
			said = "a request to " + e.Request.URL
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if said != "" && (b.quiet == "" || !strings.Contains(said, b.quiet)) {
		b.wrong = append(b.wrong, said)
	}
}

// complaints are what went wrong since the last call.
func (b *tab) complaints() (out []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	out, b.wrong = b.wrong, nil
	return out
}

// limit is how long one step may take.
const limit = 40 * time.Second

func (b *tab) do(t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	ctx, end := context.WithTimeout(b.ctx, limit)
	defer end()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatalf("%v; the page said %q", err, b.complaints())
	}
}

// value runs a step and gives what it returns.
func value[T any](t *testing.T, b *tab, step chromedp.Action[T]) T {
	t.Helper()
	ctx, end := context.WithTimeout(b.ctx, limit)
	defer end()
	out, err := chromedp.Run(ctx, step)
	if err != nil {
		t.Fatalf("%v; the page said %q", err, b.complaints())
	}
	return out
}

// awaited waits for a promise.
var awaited = chromedp.EvalAwaitPromise

// script is the value of an expression on the page.
func script[T any](t *testing.T, b *tab, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	return value(t, b, chromedp.Evaluate[T](expression, options...))
}

// settled is when nothing loads any more.
const settled = `!!document.querySelector('h1') && !document.querySelector('.wait.on')`

// settle waits until nothing loads any more, and a moment later neither.
func (b *tab) settle(t *testing.T) {
	t.Helper()
	wait := func() { value(t, b, chromedp.Poll[bool](settled, chromedp.WithPollingTimeout(limit))) }
	wait()
	b.do(t, chromedp.Sleep(250*time.Millisecond))
	wait()
}

// visit opens an address of the page and waits until it is there.
func (b *tab) visit(t *testing.T, address string) {
	t.Helper()
	b.do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(address))
	b.settle(t)
}

func (b *tab) size(t *testing.T, width, height int64) {
	t.Helper()
	b.do(t, chromedp.EmulateViewport(width, height))
}

// text is what a person reads on the page.
func (b *tab) text(t *testing.T) string {
	t.Helper()
	return script[string](t, b, `document.body.innerText`)
}

// violation is a rule of accessibility that does not hold.
type violation struct {
	ID    string   `json:"id"`
	Help  string   `json:"help"`
	Nodes []string `json:"nodes"`
}

// accessible says what axe-core finds on the page.
func (b *tab) accessible(t *testing.T, name string) {
	t.Helper()
	for _, f := range b.inaccessible(t) {
		t.Errorf("%s: %s: %s\n  %s", name, f.ID, f.Help, strings.Join(f.Nodes, "\n  "))
	}
}

func (b *tab) inaccessible(t *testing.T) []violation {
	t.Helper()
	script[chromedp.Void](t, b, axe)
	return script[[]violation](t, b, `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(r => r.violations.map(v => (
		{id: v.id, help: v.help, nodes: v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' :: ' + n.any.map(a => a.message).join(' ').slice(0, 200))})))`, chromedp.EvalAwaitPromise)
}

// picture keeps a screenshot of the whole page, where a folder for those is named.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	dir := os.Getenv("GPUTALLY_SCREENSHOTS")
	if dir == "" {
		return
	}
	png := value(t, b, chromedp.CaptureScreenshot())
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.png", name)), png, 0o644); err != nil {
		t.Fatal(err)
	}
}
