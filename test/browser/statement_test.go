// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// TestStatement closes the month before this one and looks at its statement: the hash,
// what came too late as a correction of this month, and how it looks on paper.
func TestStatement(t *testing.T) {
	server := start(t)
	b := open(t, server)
	now := time.Now().UTC()
	this := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	fleet := history.New(2026, this.Add(-8*time.Hour), this)
	bring := func(node string) {
		var batches []usage.Batch
		for x := range fleet.Batches(node) {
			batches = append(batches, x)
		}
		deliver(t, server, batches)
		rated(t, server)
	}
	month := this.AddDate(0, -1, 0).Format("2006-01")
	bring(history.NodeAWS)
	// The demo's price of the other node's pool would have the month wait for it.
	resp, err := http.Post(server+"/api/v1/months/"+month+"/close", "application/json", strings.NewReader(`{"currency":"USD","level":"namespace","by":"ada","note":"agreed with finance","force":"a test"}`))
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	_ = resp.Body.Close()
	bring(history.NodeGCP)
	var months struct {
		Months []struct {
			Closing struct {
				SHA256     string
				Statements []struct{ Account, Class, SHA256, Amount string }
			}
		}
	}
	ask(t, server+"/api/v1/months/"+month, &months)
	closing := months.Months[0].Closing
	hash, amount := "", ""
	for _, s := range closing.Statements {
		if s.Account == "train" && s.Class == "workload" {
			hash, amount = s.SHA256, s.Amount
		}
	}
	if hash == "" || closing.SHA256 == "" {
		t.Fatalf("%+v", closing)
	}
	b.size(t, 1280, 800)
	b.visit(t, server+"/ui/?lang=en&theme=dark#/statement?month="+month+"&team=train")
	text := b.text(t)
	for _, want := range []string{"closed: final", hash, closing.SHA256, "ada · agreed with finance", "demo-2026", "none of earlier months", cents(nano(t, amount)) + " USD"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not on the statement:\n%s", want, text)
		}
	}
	b.picture(t, "statement-closed")
	b.accessible(t, "a closed month")
	paper(t, b)
	b.visit(t, server+"/ui/?lang=en&theme=light#/statement?month="+this.Format("2006-01")+"&team=inference")
	rows := report(t, server+"/api/v1/report?booked=true&month="+this.Format("2006-01")+"&where=kind=correction&where=namespace=inference&by=month")
	want := "for hours of " + month + ", which is closed: " + cents(nano(t, rows[0].Cost.Total)) + " USD"
	if text := b.text(t); rows[0].Keys["month"] != month || nano(t, rows[0].Cost.Total).Sign() <= 0 || !strings.Contains(text, want) {
		t.Errorf("%q is not on the statement:\n%s", want, text)
	}
	b.picture(t, "statement-corrections")
	for _, c := range b.complaints() {
		t.Error(c)
	}
}

// paper prints what is shown: dark pages come out light, nothing is wider than the
// sheet, and a short statement is one page.
func paper(t *testing.T, b *tab) {
	t.Helper()
	b.do(t, media("print"))
	b.size(t, 700, 990) // about an A4 sheet within its margins
	b.picture(t, "statement-print")
	if wide := script[bool](t, b, `document.documentElement.scrollWidth > innerWidth + 1`); wide {
		t.Error("on paper the statement is cut at its right edge")
	}
	const dark = `[...document.querySelectorAll('html, main *')].filter(e => e.innerText && getComputedStyle(e).display !== 'none' && (() => { const c = getComputedStyle(e), n = (x) => x.match(/[\d.]+/g).map(Number), f = n(c.color), g = n(c.backgroundColor);
		return f[0] + f[1] + f[2] > 3 * 140 || ((g[3] ?? 1) > 0 && g[0] + g[1] + g[2] < 3 * 200); })()).map(e => e.tagName + '.' + e.className + ' ' + e.innerText.slice(0, 40))`
	if out := script[[]string](t, b, dark); len(out) > 0 {
		t.Errorf("on paper these are dark, or too light to read: %q", out)
	}
	b.do(t, media(""))
	b.size(t, 1280, 800)
	pdf := value(t, b, printed)
	pages := len(regexp.MustCompile(`/Type\s*/Page\b[^s]`).FindAll(pdf, -1))
	if !bytes.HasPrefix(pdf, []byte("%PDF-")) || pages != 1 {
		t.Errorf("%d bytes of PDF with %d pages", len(pdf), pages)
	}
	if dir := os.Getenv("GPUTALLY_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "statement.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func media(kind string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: kind})
		return err
	})
}

// printed is the page as a PDF on A4.
func printed(ctx context.Context, tab *chromedp.Target) ([]byte, error) {
	yes, wide, high := true, 8.27, 11.69
	out, err := cdp.Call(ctx, tab, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: wide, PaperHeight: high, PrintBackground: &yes})
	return out.Data, err
}
