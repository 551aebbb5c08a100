// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPaper: what is printed is in light colours and as wide as a sheet, and has what one
// would have to scroll to. Afterwards the screen is as it was.
func TestPaper(t *testing.T) {
	server, device := small(t)
	b := open(t, server)
	b.size(t, 1280, 500)
	const look = `[document.documentElement.dataset.theme, String(document.querySelectorAll('a.gpu').length), String(document.querySelector('.uplot') ? document.querySelector('.uplot').offsetWidth : 0)]`
	// The browser prints without waiting for a page: what it sees is what is there when
	// the event has been told.
	const printed = `(async () => { dispatchEvent(new Event('beforeprint')); for (let i = 0; i < 9; i++) await null; return ` + look + `; })()`
	for _, p := range []struct {
		hash, gpus string
		plot       bool
	}{{"fleet", "24", false}, {"cost?range=7d", "0", true}, {"gpu/" + device + "?range=24h", "0", true}} {
		b.visit(t, server+"/ui/?lang=en&theme=dark#/"+p.hash)
		screen := script[[]string](t, b, look)
		paper := script[[]string](t, b, printed, awaited)
		if paper[0] != "light" || paper[1] != p.gpus || p.plot != (paper[2] == "686") {
			t.Errorf("%s is printed as %q", p.hash, paper)
		}
		script[chromedp.Void](t, b, `dispatchEvent(new Event('afterprint')); 0`)
		if after := script[[]string](t, b, look); after[0] != "dark" || after[1] != screen[1] || after[2] != screen[2] {
			t.Errorf("%s was %q and is %q after printing", p.hash, screen, after)
		}
	}
	for _, c := range b.complaints() {
		t.Error(c)
	}
}
