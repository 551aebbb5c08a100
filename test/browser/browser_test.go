// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// TestTheTestSees: what must not be on the pages is seen where it is brought about: an
// error, a request to another server, what the policy forbids, a picture without words.
func TestTheTestSees(t *testing.T) {
	server := start(t)
	b := open(t, server)
	b.visit(t, server+"/ui/?lang=en#/cost")
	b.complaints()
	for what, expression := range map[string]string{
		"console: ": `console.error('brought about')`, "exception: ": `setTimeout(() => { throw new Error('brought about') })`,
		"Content Security Policy": `document.body.setAttribute('style', 'color: red')`,
		"a request to":            `document.head.append(Object.assign(document.createElement('link'), {rel: 'prefetch', href: 'https://elsewhere.invalid/x'})); fetch('https://elsewhere.invalid/y').catch(() => 0)`,
	} {
		script[chromedp.Void](t, b, expression+`; 0`)
		b.do(t, chromedp.Sleep(300*time.Millisecond))
		if all := strings.Join(b.complaints(), "\n"); !strings.Contains(all, what) && !strings.Contains(all, "elsewhere.invalid") {
			t.Errorf("%s is not seen: %q", what, all)
		}
	}
	script[chromedp.Void](t, b, `document.querySelector('main').append(document.createElement('img')); 0`)
	if len(b.inaccessible(t)) == 0 {
		t.Error("axe-core finds nothing wrong with a picture without words")
	}
}

// TestPages visits every page in both languages, light and dark.
func TestPages(t *testing.T) {
	server, device := small(t)
	b := open(t, server)
	b.do(t, chromedp.Navigate(server+"/"))
	if at := value(t, b, chromedp.Location()); !strings.HasPrefix(at, server+"/ui/") {
		t.Errorf("the root leads a browser to %s", at)
	}
	pages := []struct {
		name, hash string
		want       []string // in the language of the page: English, Chinese
	}{
		{"fleet", "fleet", []string{"Cost per hour", "每小时成本"}},
		{"gpu", "gpu/" + device + "?range=7d", []string{"Who had this GPU when?", "这块 GPU 何时归谁使用"}},
		{"cost", "cost?range=7d", []string{"the same, to the billionth", "完全相等"}},
		{"cost-down", "cost?range=7d&by=workload&ns=train", []string{"Workload", "工作负载"}},
		{"cost-whatif", "cost?range=7d&whatif=basis:memory", []string{"Not the bill.", "这不是账单"}},
		{"cost-pods", "cost?range=7d&by=pod&ns=inference", []string{"inference/", "inference/"}},
		{"workload", "workload?range=7d", []string{"Reserved, unused", "保留未用"}},
		{"workload-one", "workload/inference%2FStatefulSet%2Fchat?range=7d", []string{"GPUs charged for, hour by hour", "逐小时收费"}},
		{"truth", "truth?range=7d", []string{"All workloads", "全部负载"}},
		{"utilization", "utilization", []string{"What it does not say", "不代表"}},
		{"statement", "statement", []string{"not final", "非最终"}},
		{"statement-team", "statement?team=train", []string{"PyTorchJob/llama-pretrain", "PyTorchJob/llama-pretrain"}},
		{"advice", "advice?share=true", []string{"with what is missing", "并写明缺什么"}},
		{"guardrails", "guardrails?range=7d", []string{"Who is where they should not be", "谁出现在不该出现的地方"}},
	}
	t.Run("drilling", func(t *testing.T) { drilling(t, b, server) })
	for i, look := range []struct {
		lang, theme   string
		width, height int64
	}{{"en", "light", 1440, 900}, {"zh", "dark", 1280, 720}} {
		b.size(t, look.width, look.height)
		for _, p := range pages {
			name := fmt.Sprintf("%s-%s-%s-%dx%d", p.name, look.lang, look.theme, look.width, look.height)
			t.Run(name, func(t *testing.T) {
				b.visit(t, fmt.Sprintf("%s/ui/?lang=%s&theme=%s#/%s", server, look.lang, look.theme, p.hash))
				if text := b.text(t); !strings.Contains(text, p.want[i]) {
					t.Errorf("%q is not on the page:\n%s", p.want[i], text)
				}
				b.picture(t, name)
				b.accessible(t, name)
				if script[bool](t, b, `document.documentElement.scrollWidth > innerWidth + 1`) {
					t.Error("the page is wider than the window")
				}
				if left := script[string](t, b, englishLeft); look.lang == "zh" && left != "" {
					t.Errorf("English on a Chinese page:\n%s", left)
				} else if look.lang == "en" && left == "" {
					t.Error("no English on an English page: the search for it finds nothing")
				}
				for _, c := range b.complaints() {
					t.Error(c)
				}
			})
		}
	}
}

// englishLeft are texts of the page in which four English words stand in a row, also those
// in closed parts and in names for those who do not see; commands and code are English.
const englishLeft = `(() => {
	const found = new Set(), words = /\b[a-z]+(?:,? [a-z]+){3,}\b/, no = 'code, script, noscript, style, [lang=en]';
	const look = (text) => { if (words.test(text)) found.add(text.trim()); };
	for (const w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); w.nextNode();) {
		const at = w.currentNode.parentElement;
		if (at.closest('pre')) for (const line of w.currentNode.data.split('\n')) look((line.match(/# .*/) || [''])[0]);
		else if (!at.closest(no)) look(w.currentNode.data);
	}
	for (const e of document.querySelectorAll('[title], [aria-label], [placeholder]')) for (const a of ['title', 'aria-label', 'placeholder']) look(e.getAttribute(a) || '');
	return [...found].join('\n');
})()`

// TestTrouble: what goes wrong is said in the language of whoever looks, with what to do;
// what exactly, the server says. No address leaves a page empty.
func TestTrouble(t *testing.T) {
	server, _ := small(t)
	b := open(t, server)
	b.quiet = "40" // 404 and 409 are what is tried
	for _, look := range []struct{ lang, hash, want, exactly string }{
		{"en", "gpu/GPU-none?range=7d", "That is not there.", "GPU-none"},
		{"zh", "gpu/GPU-none?range=7d", "找不到。", "GPU-none"},
		{"en", "gpu/%E0%A4%A", "That is not there.", "%E0%A4%A"},
		{"zh", "cost?by=nothing", "按现在的条件无法查询。", "workload_kind, workload"},
		{"en", "cost?from=2026-12-02T00:00Z&to=2026-12-01T00:00Z", "The question cannot be answered", "it is not before to"},
		{"en", "cost?from=banana&to=x", "What if", "7 days"},
		{"en", "cost?from=1999-01-01T00:00Z&to=1999-02-01T00:00Z", "No hour of this time is rated", "--from 1999-01-01T00:00:00Z --to 1999-02-01T00:00:00Z"},
		{"en", "truth?from=1999-01-01T00:00Z&to=1999-02-01T00:00Z", "No hour of this time is rated", "At this moment"},
		{"en", "workload/broken", "No workload is called that.", "namespace/Deployment/name"},
		{"zh", "statement?month=2031-01", "2031-01 没有入账", "--month 2031-01"},
		{"en", "nowhere", "There is no such page.", "Fleet"},
	} {
		b.visit(t, fmt.Sprintf("%s/ui/?lang=%s#/%s", server, look.lang, look.hash))
		text := b.text(t)
		if !strings.Contains(text, look.want) || !strings.Contains(text, look.exactly) {
			t.Errorf("%s %s:\n%s", look.lang, look.hash, text)
		}
		b.accessible(t, look.lang+" trouble")
		b.picture(t, "trouble-"+look.lang)
	}
}

// TestNarrow: on a telephone no page is wider than the screen; tables are moved within
// their panels.
func TestNarrow(t *testing.T) {
	server, device := small(t)
	b := open(t, server)
	b.size(t, 480, 900)
	for _, hash := range []string{"fleet", "gpu/" + device + "?range=7d", "cost?range=7d&rules=open", "workload?range=7d", "workload/inference%2FStatefulSet%2Fchat?range=7d", "statement?team=train", "advice", "guardrails?range=7d", "truth?range=7d", "utilization"} {
		b.visit(t, server+"/ui/?lang=en&theme=dark#/"+hash)
		if wide := script[int](t, b, `document.documentElement.scrollWidth`); wide > 481 {
			t.Errorf("%s is %d wide on 480", hash, wide)
		}
		b.picture(t, "narrow-"+strings.ReplaceAll(strings.SplitN(hash, "?", 2)[0], "/", "-"))
	}
}

// drilling follows one row of the cost table down to how its charges came about and to
// its GPU, and reads the value under the pointer there.
func drilling(t *testing.T, b *tab, server string) {
	b.size(t, 1440, 900)
	b.visit(t, server+"/ui/?lang=en&theme=light#/cost?range=7d&by=pod&ns=inference")
	b.do(t, chromedp.Click(`//a[contains(text(), "inference/vllm-mistral-0")]`))
	b.do(t, chromedp.WaitVisible("details[open] pre"))
	b.settle(t)
	if text := b.text(t); !strings.Contains(text, "The hour, divided again, comes to the same.") {
		t.Errorf("no explanation:\n%s", text)
	}
	b.do(t, chromedp.Click(`//td/a[contains(@href, "#/gpu/")]`))
	b.do(t, chromedp.WaitVisible(".u-over"))
	b.settle(t)
	if pieces := script[int](t, b, `document.querySelectorAll('svg.bar.big g').length`); pieces < 3 {
		t.Errorf("the bar of a GPU that is in use has %d pieces", pieces)
	}
	const move = `(() => { const o = document.querySelector('.u-over'), r = o.getBoundingClientRect(); const at = (x) => ({clientX: r.left + r.width * x, clientY: r.top + 20, bubbles: true, buttons: 1});
		o.dispatchEvent(new MouseEvent('mousemove', at(0.9))); return new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(document.querySelector('.tip').innerText)))); })()`
	if tip := script[string](t, b, move, chromedp.EvalAwaitPromise); !strings.Contains(tip, "vllm-mistral-0") || !strings.Contains(tip, "GiB · measured") {
		t.Errorf("under the pointer is %q", tip)
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// TestKeyboardAndSignIn: a server that asks for tokens gets one in the page; it stays in
// the tab, and an empty fleet says what to do. The first key leads past the navigation.
func TestKeyboardAndSignIn(t *testing.T) {
	tokens := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(tokens, []byte("a-token-to-read-with\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server := start(t, "--read-token-file", tokens)
	b := open(t, server)
	b.quiet = "401" // that is what is tried
	b.visit(t, server+"/ui/?lang=en")
	b.do(t, chromedp.WaitVisible("#token"), chromedp.SendKeys("#token", "wrong\r"), chromedp.WaitVisible(".note.bad"))
	b.picture(t, "sign-in")
	b.accessible(t, "sign in")
	script[chromedp.Void](t, b, `document.querySelector('#token').value = ''`)
	b.do(t, chromedp.SendKeys("#token", "a-token-to-read-with\r"), chromedp.WaitNotPresent("#token"))
	b.settle(t)
	if text := b.text(t); !strings.Contains(text, "No node has delivered a record yet") || !strings.Contains(text, "helm install") {
		t.Errorf("an empty fleet teaches nothing:\n%s", text)
	}
	kept := script[string](t, b, `sessionStorage.getItem('gputally-token') + '|' + Object.values(localStorage).join() + '|' + document.cookie`)
	b.visit(t, server+"/ui/?lang=en")
	b.do(t, chromedp.KeyEvent("\t"))
	focused := script[string](t, b, `document.activeElement.className`)
	if kept != "a-token-to-read-with||" {
		t.Errorf("the token is in %q", kept)
	}
	if focused != "skip" {
		t.Errorf("the first stop of the keyboard is %q", focused)
	}
	b.do(t, chromedp.Click(`//button[text()="Sign out"]`), chromedp.WaitVisible("#token"))
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// TestTenThousand prints how long the fleet page of 10,000 GPUs takes.
func TestTenThousand(t *testing.T) {
	server := start(t)
	b := open(t, server)
	deliver(t, server, large(1250))
	until(t, 30*time.Second, "all nodes are on the board", func() bool {
		var f struct{ Nodes []struct{ Node string } }
		ask(t, server+"/api/v1/fleet", &f)
		return len(f.Nodes) == 1250
	})
	answer, wire := onTheWire(t, server+"/api/v1/fleet")
	fmt.Printf("/api/v1/fleet of 10,000 GPUs: %s, %d bytes on the wire\n", answer.Round(time.Millisecond), wire)
	began := time.Now()
	b.visit(t, server+"/ui/?lang=en&theme=light#/fleet")
	whole := time.Since(began)
	const countTiles, elements = `document.querySelectorAll('a.gpu').length`, `document.querySelectorAll('*').length`
	value(t, b, chromedp.Poll[bool](`performance.getEntriesByName('fleet-painted').length > 0`, chromedp.WithPollingTimeout(limit)))
	at := func(name string) float64 {
		return script[float64](t, b, `(e => e.startTime + e.duration)(performance.getEntriesByName('`+name+`')[0])`)
	}
	tiles, nodes, view := script[int](t, b, countTiles), script[int](t, b, elements), bars(t, b, "fleet-view")
	fmt.Printf("fleet page of 10,000 GPUs: data %.0f ms after the navigation, the %d bars in view after %.0f ms, all after %.0f ms; settled after %s; %d elements, %d of the GPUs among them\n", at("fleet-data"), view, at("fleet-view"), at("fleet-painted"), whole.Round(time.Millisecond), nodes, tiles)
	if all := bars(t, b, "fleet-painted"); view < 1000 || view > 6000 || all != 10_000 {
		t.Errorf("%d bars are painted in the first view and %d in all", view, all)
	}
	if nodes > 1500 {
		t.Errorf("%d elements for what is in view", nodes)
	}
	updating(t, b, server)
	b.picture(t, "fleet-10000-en-light-1440x900")
	b.accessible(t, "10,000 GPUs")
	if tiles != 0 {
		t.Errorf("%d tiles: a large fleet is a bar for each pool, until it is opened", tiles)
	}
	opening(t, b)
	if text := b.text(t); !strings.Contains(text, "10,000") {
		t.Errorf("10,000 is not on the page:\n%.400s", text)
	}
	b.do(t, chromedp.SendKeys("#search", "node-0777"), chromedp.Sleep(600*time.Millisecond))
	if tiles = script[int](t, b, countTiles); tiles != 8 {
		t.Errorf("%d tiles of the node that is looked for", tiles)
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// bars is how many bars were painted up to a mark.
func bars(t *testing.T, b *tab, mark string) int {
	t.Helper()
	return script[int](t, b, `performance.getEntriesByName('`+mark+`')[0].detail.bars`)
}

// updating delivers the next minute of one node: its bars are painted anew, and none
// of the others.
func updating(t *testing.T, b *tab, server string) {
	t.Helper()
	next := large(1)
	next[0].Seq = 2
	next[0].StartMS += next[0].DurationMS
	for i := range next[0].Partitions {
		next[0].Partitions[i].StartMS = next[0].StartMS
	}
	for i := range next[0].Holders {
		next[0].Holders[i].StartMS = next[0].StartMS
	}
	deliver(t, server, next)
	value(t, b, chromedp.Poll[bool](`performance.getEntriesByName('fleet-updated').length > 0`, chromedp.WithPollingTimeout(limit)))
	if n := bars(t, b, "fleet-updated"); n != 8 {
		t.Errorf("%d bars are painted anew for 8 GPUs", n)
	}
}

// opening goes down from the bar of a pool to those of its nodes and to a node's GPUs,
// and a link to what is open opens the same.
func opening(t *testing.T, b *tab) {
	t.Helper()
	const pools, nodes = `document.querySelectorAll('.level.pool svg.bar').length`, `document.querySelectorAll('.level:not(.pool) svg.bar').length`
	if n := script[int](t, b, pools); n < 5 {
		t.Errorf("%d bars of pools", n)
	}
	text := script[string](t, b, `document.querySelector('.level.pool').innerText`)
	if !strings.Contains(text, "pool-0") || !strings.Contains(text, "nodes: 25") || !strings.Contains(text, "GPUs: 200") || !strings.Contains(text, "15.63 TiB") {
		t.Errorf("the first pool says %q", text)
	}
	b.do(t, chromedp.Click(".level.pool button.lv"), chromedp.Sleep(300*time.Millisecond))
	if n := script[int](t, b, nodes); n < 10 || n > 25 {
		t.Errorf("%d bars of the 25 nodes of the open pool", n)
	}
	b.do(t, chromedp.Click(".level:not(.pool) button.lv"), chromedp.Sleep(300*time.Millisecond))
	const tiles = `document.querySelectorAll('a.gpu').length`
	if n := script[int](t, b, tiles); n != 8 {
		t.Errorf("%d tiles of the open node", n)
	}
	b.picture(t, "fleet-10000-open")
	b.accessible(t, "an open pool")
	b.visit(t, script[string](t, b, `location.href`))
	if n := script[int](t, b, tiles); n != 8 {
		t.Errorf("%d tiles behind the link", n)
	}
}

// onTheWire asks as a browser does, compressed, and says how long the whole answer took
// and how large it is.
func onTheWire(t *testing.T, url string) (time.Duration, int64) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	began := time.Now()
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" {
		t.Fatal(err, resp.Header)
	}
	return time.Since(began), n
}

// large is the newest minute of many nodes with 8 GPUs each.
func large(nodes int) (out []usage.Batch) {
	const gib = uint64(1) << 30
	start := time.Now().Truncate(time.Minute).Add(-time.Minute).UnixMilli()
	span := usage.Span{StartMS: start, DurationMS: 60_000}
	for n := range nodes {
		b := usage.Batch{Version: 1, Node: fmt.Sprintf("node-%04d", n), Cluster: fmt.Sprintf("cluster-%d", n/250), Agent: fmt.Sprintf("agent-%04d", n), Boot: "boot-1", Seq: 1, StartMS: start, DurationMS: 60_000, IntervalMS: 5000,
			Shape: &usage.NodeShape{Labels: map[string]string{"node-pool": fmt.Sprintf("pool-%d", n%10)}}}
		for g := range 8 {
			id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", n, g)))
			capacity, held := 80*gib, uint64((n*7+g*13)%79)*gib
			b.Partitions = append(b.Partitions, usage.PartitionRecord{
				Partition: id, Span: span, Slot: fmt.Sprintf("0000:%02x:00.0", g), Model: "NVIDIA H100 80GB HBM3", Mode: gpu.ModeExclusive, MeasuredMS: 60_000,
				CapacityBytes: &capacity, CapacityByteMS: capacity * 60_000, ReservedByteMS: gib * 60_000, UsedByteMS: held * 60_000, FreeByteMS: (79*gib - held) * 60_000, Grade: gpu.Measured,
			})
			if held > 0 {
				b.Holders = append(b.Holders, usage.Record{Partition: id, Span: span, PresentMS: 60_000, KnownMS: 60_000, ByteMS: held * 60_000, PeakBytes: held, Grade: gpu.Measured,
					Holder: workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("uid-%d-%d", n, g), Namespace: fmt.Sprintf("team-%02d", (n+g)%14), Pod: fmt.Sprintf("train-%d-%d", n, g), Container: "main"}})
			}
		}
		out = append(out, b)
	}
	return out
}
