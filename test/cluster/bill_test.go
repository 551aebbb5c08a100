// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The ledger of the run: a server on the node that gets the records of every scenario's
// agent when that has ended, under a cluster's name of its own.
const ledgerHere = "http://127.0.0.1:9503"

const ledgerPrices = `pricebook: 1
currency: USD
rows:
- {id: a100, model: NVIDIA A100-SXM4-40GB, gpu_hour: 3.60}
`

// keepLedger runs that server until the test ends.
func keepLedger(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	prices := filepath.Join(dir, "prices.yaml")
	writeFile(t, prices, ledgerPrices)
	startProcess(t, "/run/node/log/ledger.log", "/run/node/gputally/gputally", "server", "--data-dir", filepath.Join(dir, "ledger"),
		"--listen", strings.TrimPrefix(ledgerHere, "http://"), "--price-book", prices, "--memory", "512")
	eventually(t, "the run's ledger is ready", func() error {
		_, err := read(ledgerHere + "/readyz")
		return err
	})
}

// share is what a pod pays of a partition, as a part of a whole GPU's time.
type share struct {
	pod, partition string
	num, den       int64
}

// billed gives the ledger the agent's records, and checks who pays for GPUs: those that
// were said to hold or to be given something, and nobody else; for a leak the one who took.
// Where the shares were said they are held to, to the millisecond.
func (a *agent) billed(t *testing.T) {
	t.Helper()
	a.deliver(t)
	rows := a.lines(t)
	pays, leaks := map[string]*big.Rat{}, map[string]*big.Rat{}
	var payers, takers []string
	for _, row := range rows {
		if row["pod"] == "" || number(t, row, "gpu_ms").Sign() == 0 { // a platform account's; a pod's CPU
			continue
		}
		who := strings.TrimPrefix(row["pod"], "default/")
		add(pays, who, number(t, row, "gpu_ms"))
		add(leaks, who, number(t, row, "leaked_gpu_ms"))
		payers = append(payers, who)
		if leaks[who].Sign() > 0 {
			takers = append(takers, who)
		}
	}
	wantPayers, wantTakers := saidPayers(a.said)
	if diff := cmp.Diff(wantPayers, slices.Compact(sorted(payers))); diff != "" {
		t.Errorf("who pays (-said +billed):\n%s", diff)
	}
	if diff := cmp.Diff(wantTakers, slices.Compact(sorted(takers))); diff != "" {
		t.Errorf("who pays for a leak (-said +billed):\n%s", diff)
	}
	a.paid(t, pays)
	costIsCharged(t)
}

// costIsCharged checks that what all lines of the ledger come to is what the nodes cost,
// to the last digit.
func costIsCharged(t *testing.T) {
	t.Helper()
	sums := 0
	for _, which := range spans {
		lines := reported(t, which, "--by", "cluster")
		for _, total := range lines.where("line", "total") {
			sums++
			charged, cost := number(t, total, "cost"), number(t, lines.must(t, "line", "nodes"), "cost")
			if charged.Cmp(cost) != 0 || cost.Sign() == 0 {
				t.Errorf("report %s: the nodes cost %s, charged are %s", which, cost.FloatString(9), charged.FloatString(9))
			}
		}
	}
	if sums == 0 {
		t.Error("the ledger has no cost at all")
	}
}

func add(sums map[string]*big.Rat, key string, n *big.Rat) {
	if sums[key] == nil {
		sums[key] = new(big.Rat)
	}
	sums[key].Add(sums[key], n)
}

// paid checks the shares that were said, of the time for which a partition has records.
func (a *agent) paid(t *testing.T, pays map[string]*big.Rat) {
	t.Helper()
	ms := map[string]int64{}
	for _, b := range a.records(t) {
		for _, p := range b.Partitions {
			name := p.Partition.Device
			if len(p.Names) > 0 {
				name = p.Names[0]
			}
			ms[name] += p.DurationMS
		}
	}
	for _, s := range a.said[len(a.said)-1].pays {
		want := new(big.Rat).Mul(big.NewRat(ms[s.partition], 1), big.NewRat(s.num, s.den))
		if got := pays[s.pod]; got == nil || !near(got, want, 2) {
			t.Errorf("%s pays %v ms of a GPU, want %d/%d of %d", s.pod, got, s.num, s.den, ms[s.partition])
		}
	}
}

// saidPayers are the pods that were said to hold or be given memory, and those of them
// that took it.
func saidPayers(said []truth) (all, takers []string) {
	for _, moment := range said {
		for _, h := range moment.holdings {
			pod, _, _ := strings.Cut(h.who, "/")
			if pod == "" {
				continue // without an API server; the ledger learns the name from other records
			}
			all = append(all, pod)
			if h.leak {
				takers = append(takers, pod)
			}
		}
		for _, g := range moment.grants {
			if g.reserved > 0 {
				all = append(all, g.pod)
			}
		}
	}
	return slices.Compact(sorted(all)), slices.Compact(sorted(takers))
}

// deliver sends the agent's spool to the ledger.
func (a *agent) deliver(t *testing.T) {
	t.Helper()
	lines, err := output("gputally-agent", "spool", "cat", a.spool)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"v":1,"batches":[` + strings.Join(strings.Split(strings.TrimSpace(string(lines)), "\n"), ",") + `]}`
	resp, err := http.Post(ledgerHere+pathBatches, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatalf("deliver to the run's ledger: %v", err)
	}
	defer resp.Body.Close()
	if said, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || strings.Contains(string(said), `"code"`) {
		t.Fatalf("deliver to the run's ledger: %s %s", resp.Status, said)
	}
}

// spans are the flags for what is booked, and for what is not yet.
var spans = []string{"--since=1d", "--open"}

// lines are the ledger's rows of the agent's cluster, open and booked.
func (a *agent) lines(t *testing.T) bill {
	t.Helper()
	var rows bill
	for _, which := range spans {
		rows = append(rows, reported(t, which, "--by", "pod", "--where", "cluster="+a.cluster).where("line", "row")...)
	}
	return rows
}

// reported is a report of the run's ledger.
func reported(t *testing.T, words ...string) bill {
	t.Helper()
	text, err := output("gputally", append([]string{"report", "--server", ledgerHere, "-o", "csv"}, words...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := readBill(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// bill are the lines of a report, as gputally report -o csv prints them: column by name.
type bill []map[string]string

// readBill reads a report in CSV: its rows, and its lines for totals.
func readBill(text string) (bill, error) {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		return nil, fmt.Errorf("read report: %v: %q", err, text)
	}
	var out bill
	for _, cells := range lines[1:] {
		line := map[string]string{}
		for i, name := range lines[0] {
			line[name] = cells[i]
		}
		out = append(out, line)
	}
	return out, nil
}

// number is a column of a row, exactly; empty is unknown, and fails.
func number(t *testing.T, row map[string]string, column string) *big.Rat {
	t.Helper()
	n, ok := new(big.Rat).SetString(row[column])
	if !ok {
		t.Fatalf("column %s is %q in %v", column, row[column], row)
	}
	return n
}

// near says whether two numbers differ by no more than slack.
func near(a, b *big.Rat, slack int64) bool {
	d := new(big.Rat).Sub(a, b)
	return d.Abs(d).Cmp(big.NewRat(slack, 1)) <= 0
}

// where are the lines with a value in a column.
func (b bill) where(column, value string) bill {
	var out bill
	for _, line := range b {
		if line[column] == value {
			out = append(out, line)
		}
	}
	return out
}

// must is the only such line; a bill without it, or with more, fails.
func (b bill) must(t *testing.T, column, value string) map[string]string {
	t.Helper()
	lines := b.where(column, value)
	if len(lines) != 1 {
		t.Fatalf("%d lines with %s %s, want one, in %v", len(lines), column, value, b)
	}
	return lines[0]
}
