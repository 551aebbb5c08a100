// SPDX-License-Identifier: Apache-2.0

package ledgermetrics

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed zh.txt
var chinese string

const intro = `# Metrics of gputally server

[中文](zh/server-metrics.md)

<!-- Made by "make docs" from the list in internal/adapter/ledgermetrics. Do not edit. -->

Served on ` + "`/metrics`" + ` to those who may read, as Prometheus text or OpenMetrics, with the process's own cost in ` + "`process_*` and `go_*`" + `.

**Costs here are for display.** Prometheus keeps floating point numbers and loses samples; the ledger keeps whole billionths and loses
nothing. Bill from ` + "`gputally report`" + `, not from a dashboard. The cost series are looked up once a minute: this month so far by account,
and the hour last rated. ` + "`account`" + ` is the namespace of a workload, a platform account such as idle, or an owner that the policy names
(` + "`class`" + ` says which). Currencies are never added together.

| metric | type | unit | labels | what it is |
|---|---|---|---|---|
`

// WriteDocs prints docs/server-metrics.md, or its Chinese side.
func WriteDocs(w io.Writer, lang string) error {
	c, err := translation.For(lang, chinese)
	if err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString(c.Text(intro))
	for _, m := range list {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", m.name, m.kind, c.Say(m.unit), strings.Join(m.labels, ", "), c.Say(m.help))
	}
	return c.Print(w, b.String())
}
