// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gputally/gputally/internal/core/usage"
)

// gone: a node that was not heard of for hours is told apart and in no figure, and one
// that the server says is gone leaves the page.
func gone(t *testing.T, b *tab, server, _ string) {
	var before struct {
		Nodes []struct{ Node string }
	}
	ask(t, server+"/api/v1/fleet", &before)
	old := large(1)[0]
	old.Node, old.Cluster, old.Agent, old.StartMS = "old-1", "lab", "agent-old", old.StartMS-3*3_600_000
	for i := range old.Partitions {
		old.Partitions[i].StartMS = old.StartMS
	}
	for i := range old.Holders {
		old.Holders[i].StartMS = old.StartMS
	}
	deliver(t, server, []usage.Batch{old})
	b.visit(t, server+"/ui/?lang=en&theme=light#/fleet")
	b.do(t, chromedp.WaitVisible("ul.away"))
	const fact = `document.querySelector('.fact').innerText`
	if away, text := script[string](t, b, `document.querySelector('ul.away').innerText`), script[string](t, b, fact); !strings.Contains(away, "old-1") || strings.Contains(away, "rack7") || !strings.Contains(text, fmt.Sprintf("nodes: %d", len(before.Nodes))) {
		t.Errorf("away are %q, the figures say %q", away, text)
	}
	script[chromedp.Void](t, b, `{ const real = window.fetch; window.fetch = async (u, o) => { const r = await real(u, o); if (!String(u).includes('/fleet?since=')) return r; const f = await r.json(); f.gone = [{cluster: 'onprem', node: 'rack7-n03'}]; return new Response(JSON.stringify(f), {status: 200}); }; } 0`)
	until(t, 30*time.Second, "the node has left", func() bool {
		return strings.Contains(script[string](t, b, fact), fmt.Sprintf("nodes: %d", len(before.Nodes)-1))
	})
	if strings.Contains(b.text(t), "rack7-n03") {
		t.Error("rack7-n03 is still on the page")
	}
}
