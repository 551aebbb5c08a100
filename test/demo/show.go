// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/test/history"
)

// leaking is the workload whose charge is explained: it was given no GPU.
const leaking = "ml/Deployment/notebook-all-gpus"

// shown is how far back the bill goes: to before the first record.
func (d *demo) shown() string { return fmt.Sprintf("%dd", d.days+1) }

// bill prints what the month cost, by the program that a user has.
func (d *demo) bill(ctx context.Context) error {
	for _, line := range [][]string{
		{"report", "--since", d.shown()},
		{"report", "--since", d.shown(), "--by", "team"},
		{"explain", "--workload", leaking, "--since", d.shown(), "--limit", "1"},
	} {
		fmt.Fprintf(d.out, "\n$ gputally %s\n", strings.Join(line, " "))
		if err := d.gputally(ctx, append(line, "--server", d.server.url)...); err != nil {
			return err
		}
	}
	return nil
}

// gputally runs a command of the program.
func (d *demo) gputally(ctx context.Context, args ...string) error {
	return d.command(ctx, d.out, args...)
}

func (d *demo) command(ctx context.Context, out io.Writer, args ...string) error {
	c := exec.CommandContext(ctx, filepath.Join(d.bin, "gputally"), args...)
	var said strings.Builder
	c.Stdout, c.Stderr = out, &said
	if err := c.Run(); err != nil {
		return fmt.Errorf("gputally %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return nil
}

// top is the command line that shows the nodes live.
func (d *demo) top() []string {
	line := []string{"top"}
	for _, n := range d.nodes {
		line = append(line, "--agent", n.agent.url)
	}
	return line
}

// picture prints what is on the GPUs of one node now.
func (d *demo) picture(ctx context.Context) error {
	n := d.nodes[len(d.nodes)-1]
	if err := n.ready(ctx, 2*settled); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "\n$ gputally top --agent %s --once\n", n.agent.url)
	return d.gputally(ctx, "top", "--agent", n.agent.url, "--once")
}

// tryAll sees that what the demo says to try can be tried.
func (d *demo) tryAll(ctx context.Context) error {
	for _, t := range d.tries() {
		line, more := strings.Fields(t.args), []string{"--server", d.server.url}
		if line[0] == "top" {
			more = []string{"--once"}
		}
		if err := d.command(ctx, io.Discard, append(line, more...)...); err != nil {
			return err
		}
	}
	return nil
}

// stay lets everything run, says what to try, and ends when told to.
func (d *demo) stay(ctx context.Context) error {
	for _, n := range d.nodes {
		defer n.live(ctx)()
	}
	d.invite()
	select {
	case <-ctx.Done():
		fmt.Fprintln(d.out, "\nEnded; everything staged was removed.")
		return nil
	case <-d.server.ended:
		return fmt.Errorf("the server ended: %v\n%s", d.server.err, d.server.lastLog())
	}
}

// invite says what is there and what to try in another terminal.
func (d *demo) invite() {
	program, where := short(filepath.Join(d.bin, "gputally")), ""
	if d.server.url != "http://127.0.0.1:9403" {
		where = " --server " + d.server.url
	}
	fmt.Fprintf(d.out, "\nOpen %s/ui/ in a browser. All of it goes on running. On the nodes:\n", d.server.url)
	for _, n := range d.nodes {
		fmt.Fprintf(d.out, "\n  %s  (cluster %s, %s)\n", n.Name, n.Cluster, n.agent.url)
		for _, s := range scenes[n.Name] {
			fmt.Fprintf(d.out, "    %s\n", s.what)
		}
	}
	fmt.Fprint(d.out, "\nTry in another terminal:\n\n")
	for _, t := range d.tries() {
		line := program + " " + t.args
		if !strings.HasPrefix(t.args, "top") {
			line += where
		}
		fmt.Fprintf(d.out, "  %s\n      %s\n", line, t.what)
	}
	fmt.Fprintf(d.out, `
Change a price or the policy, save, and the month is rated again:
  %s
  %s
Logs, spools and the ledger are in the same folder.

Press Ctrl-C to end. `, filepath.Join(d.dir, pricesFile), filepath.Join(d.dir, policyFile))
}

// try is a command worth trying.
type try struct{ args, what string }

func (d *demo) tries() []try {
	since := " --since " + d.shown()
	last := history.NodeAWS
	return []try{
		{strings.Join(d.top(), " "), "what is on the GPUs now (? explains, q ends)"},
		{"report --open", "what the three agents measure now, before it is booked"},
		{"report" + since + " --by team,week", "weeks beside each other"},
		{"report" + since + " --by node,mode", "what each way of sharing cost"},
		{"report" + since + " --by account --where class=platform", "idle, stranded, overhead: whose money is nobody's?"},
		{"report" + since + " --by workload --top 10 -o markdown", "for the wiki"},
		{"explain --workload " + leaking + since + " --limit 3", "the leak, step by step"},
		{"price show " + last, "what a node costs, from which row, and why not another"},
		{"price compare " + last, "the same node under every rule of splitting a price"},
		{"whatif" + since + " --variant memory --variant reserved", "the month under another policy"},
		{"advise", "what workloads need, and when that cannot be said"},
		{"advise research/Deployment/sleeper", "one of them, with evidence and what to change"},
		{"advise plan", "which nodes could go"},
		{"ledger check", "do the books add up, to the billionth?"},
		{"status", "how far records and rating are"},
	}
}

// short is a path as it is typed from here, where that is shorter.
func short(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	rel, err := filepath.Rel(here, path)
	if err != nil || len(rel) >= len(path) {
		return path
	}
	return rel
}
