// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/termview"
	"github.com/gputally/gputally/internal/app/top"
)

// topFlags are the flags of gputally top.
type topFlags struct {
	agents   []string
	interval time.Duration
	timeout  time.Duration
	once     bool
	json     bool
	at       string
	node     string
	speed    float64
	sort     string
	group    string
	filter   string
	findings bool
	compact  bool
	colour   string
	width    int
	ascii    bool
}

func newTop() *cobra.Command {
	var flags topFlags
	c := &cobra.Command{
		Use:   "top [CAPTURE]",
		Short: "Show live who holds which GPU memory",
		Long: `Top shows the GPUs of a node, or of several, with their holders: memory as a bar
whose length is the GPU's capacity, sharing mode, signals, grades and findings.
It asks node agents, or plays a capture (docs/formats/capture.md; - for standard
input). Keys: s sorts, g groups, / filters, f shows findings, ? explains, q quits.

--once prints one picture as plain text, --json the data behind it
(docs/formats/top.md); both end then. NO_COLOR and TERM=dumb are honoured.`,
		Example: `  gputally top                                     # the agent of this node
  gputally top --agent http://node-a:9402 --agent http://node-b:9402
  gputally top --once | less
  gputally top --json | jq '.nodes[].result.findings'
  gputally top story.yaml --speed 60               # a minute of the capture in a second
  gputally top story.yaml --once --at 10m`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return runTop(c, args, flags) },
	}
	flags.define(c)
	return c
}

func (f *topFlags) define(c *cobra.Command) {
	p := c.Flags()
	p.StringArrayVar(&f.agents, "agent", nil, "address of an agent; may be given several times (default "+defaultAgent+")")
	p.DurationVar(&f.interval, "interval", 2*time.Second, "time between two pictures")
	p.DurationVar(&f.timeout, "timeout", 5*time.Second, "how long to wait for an agent")
	p.BoolVar(&f.once, "once", false, "print one picture and end")
	p.BoolVar(&f.json, "json", false, "print the data as JSON and end")
	p.StringVar(&f.at, "at", "", "with a capture and --once or --json: the moment, as for replay (default: the end)")
	p.StringVar(&f.node, "node", "", "with a capture: only this node (default: all of it)")
	p.Float64Var(&f.speed, "speed", 1, "with a capture: how many seconds of it pass in a second")
	p.StringVar(&f.sort, "sort", "gpu", "first order: gpu, memory, pod or sm")
	p.StringVar(&f.group, "group", "gpu", "first grouping: gpu or pod")
	p.StringVar(&f.filter, "filter", "", "show only what has this text in it")
	p.BoolVar(&f.findings, "findings", false, "show only findings, with their evidence")
	p.BoolVar(&f.compact, "compact", false, "show bars without rows")
	p.StringVar(&f.colour, "color", "auto", "colours: auto, always or never")
	p.IntVar(&f.width, "width", 0, "with --once: columns to use (default: the terminal's, else 80)")
	p.BoolVar(&f.ascii, "ascii", false, "draw with ASCII characters only (default where TERM=dumb)")
	for flag, words := range map[string][]string{"sort": {"gpu", "memory", "pod", "sm"}, "group": {"gpu", "pod"}, "color": {"auto", "always", "never"}} {
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

func runTop(c *cobra.Command, args []string, flags topFlags) error {
	if err := flags.check(args); err != nil {
		return err
	}
	sources, err := topSources(c.InOrStdin(), args, flags)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	view := flags.view()
	if len(args) > 0 {
		view.Caption = "capture " + filepath.Base(args[0])
	}
	term := terminalOf(c.OutOrStdout())
	if flags.once || flags.json {
		readings := top.ReadAll(ctx, sources, nil, flags.timeout)
		return printOnce(c, view, readings, flags, term)
	}
	if !term.is {
		return inputError{errors.New("standard output is no terminal; use --once for a picture as text, or --json")}
	}
	return watch(ctx, c, view, sources, flags, term)
}

// check refuses flags that make no sense, or none together.
func (f *topFlags) check(args []string) error {
	if err := oneOf("sort", f.sort, "gpu", "memory", "pod", "sm"); err != nil {
		return err
	}
	if err := oneOf("group", f.group, "gpu", "pod"); err != nil {
		return err
	}
	if err := oneOf("color", f.colour, "auto", "always", "never"); err != nil {
		return err
	}
	capture := len(args) > 0
	switch {
	case capture && len(f.agents) > 0:
		return inputError{errors.New("give a capture or --agent, not both")}
	case !capture && plugin != nil && f.at == "" && f.speed == 1 && len(f.agents) == 0:
		// --node is one of the cluster
	case !capture && (f.at != "" || f.node != "" || f.speed != 1):
		return inputError{errors.New("--at, --node and --speed are for a capture; name its file, or leave them out")}
	case f.at != "" && !f.once && !f.json:
		return inputError{errors.New("--at needs --once or --json")}
	case f.speed <= 0 || f.speed > 1e6:
		return inputError{fmt.Errorf("--speed is %v; write a number above 0, such as 60", f.speed)}
	case f.interval < 100*time.Millisecond || f.timeout < 100*time.Millisecond:
		return inputError{errors.New("--interval and --timeout: write 100ms or more")}
	case f.width != 0 && f.width < 40:
		return inputError{fmt.Errorf("--width is %d; write 40 or more", f.width)}
	}
	return nil
}

func (f *topFlags) view() *top.View {
	order, _ := top.ParseOrder(f.sort)
	v := &top.View{
		Glyphs: top.Unicode, Order: order, Pods: f.group == "pod", Filter: f.filter,
		FindingsOnly: f.findings, Compact: f.compact,
	}
	if f.ascii || os.Getenv("TERM") == "dumb" {
		v.Glyphs = top.ASCII
	}
	return v
}

// topJSON is what --json prints (docs/formats/top.md).
type topJSON struct {
	Version int           `json:"version"`
	Nodes   []top.Reading `json:"nodes"`
}

// printOnce prints one picture or the data. Sources that do not answer make
// it fail, after what is known was printed.
func printOnce(c *cobra.Command, view *top.View, readings []top.Reading, flags topFlags, term terminal) error {
	out := c.OutOrStdout()
	if flags.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		if err := enc.Encode(topJSON{Version: 1, Nodes: readings}); err != nil {
			return fmt.Errorf("write the answer: %w", err)
		}
		return silent(readings, flags)
	}
	width := flags.width
	if width == 0 {
		width = term.width
	}
	view.Show(readings)
	if !view.HasNodes() {
		return silent(readings, flags)
	}
	if err := term.print(out, view.Page(width), flags.colour); err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return silent(readings, flags)
}

// silent reports the sources that gave no answer.
func silent(readings []top.Reading, flags topFlags) error {
	var errs []error
	for _, r := range readings {
		if r.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", r.Source, r.Error))
		}
	}
	if len(errs) == 0 {
		return nil
	}
	hint := ""
	if len(flags.agents) == 0 && plugin == nil {
		hint = "\nstart gputally-agent on this node, or say where one is: --agent http://HOST:9402"
	}
	return fmt.Errorf("%w%s", errors.Join(errs...), hint)
}

// watch shows the picture until the reader leaves.
func watch(ctx context.Context, c *cobra.Command, view *top.View, sources []top.Source, flags topFlags, term terminal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	updates := make(chan func())
	go top.Poll(ctx, sources, flags.interval, flags.timeout, func(r []top.Reading) {
		select {
		case updates <- func() { view.Show(r) }:
		case <-ctx.Done():
		}
	})
	return termview.Run(ctx, topScreen{view}, termview.Options{
		In: c.InOrStdin(), Out: c.OutOrStdout(), Colour: term.colour(flags.colour), Updates: updates,
	})
}

// topScreen is a View on a terminal.
type topScreen struct{ *top.View }

func (s topScreen) Frame(width, height int) [][]termview.Span {
	return spans(s.View.Frame(width, height))
}

func spans(lines []top.Line) [][]termview.Span {
	out := make([][]termview.Span, len(lines))
	for i, l := range lines {
		for _, s := range l {
			out[i] = append(out[i], termview.Span(s))
		}
	}
	return out
}

// print writes lines, coloured where the flag and the terminal say so.
func (t terminal) print(w io.Writer, lines []top.Line, flag string) error {
	_, err := io.WriteString(w, termview.Paint(spans(lines), t.colour(flag))+"\n")
	return err
}
