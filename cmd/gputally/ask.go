// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"os/user"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/api/client"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// ask says which server a command asks, and how it is let in.
type ask struct {
	server, tokenFile, caFile string
}

// The environment variables behind the flags of ask.
const (
	envServer    = "GPUTALLY_SERVER"
	envTokenFile = "GPUTALLY_TOKEN_FILE"
	envCAFile    = "GPUTALLY_CA_FILE"
)

func (a *ask) define(fs *pflag.FlagSet) {
	fs.StringVar(&a.server, "server", "", "address of the gputally server ("+envServer+"; default "+client.DefaultServer+")")
	fs.StringVar(&a.tokenFile, "token-file", "", "file with the token that lets you in ("+envTokenFile+")")
	fs.StringVar(&a.caFile, "ca-file", "", "certificates in PEM that the server's is checked against, instead of the system's ("+envCAFile+")")
}

// client is the server to ask.
func (a *ask) client() (*client.Client, error) {
	if plugin != nil && a.server == "" {
		return plugin.client(a)
	}
	c, err := client.New(client.Options{
		Server: orEnv(a.server, envServer), TokenFile: orEnv(a.tokenFile, envTokenFile), CAFile: orEnv(a.caFile, envCAFile), Version: versionText(),
	})
	if err != nil {
		return nil, inputError{err}
	}
	return c, nil
}

func orEnv(flag, name string) string {
	if flag != "" {
		return flag
	}
	return os.Getenv(name)
}

// run asks the server until it has answered or the user gives up. What the server
// says is wrong with the question is a mistake of the command line.
func (a *ask) run(f func(context.Context, *client.Client) error) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err = f(ctx, c)
	var p *v1.Problem
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	case errors.As(err, &p) && (p.Status == http.StatusUnprocessableEntity || p.Status == http.StatusBadRequest):
		return inputError{err}
	}
	return err
}

// output is the flag -o of a command.
type output struct {
	format string
	words  []string
}

// define sets the flag. The first word is the default.
func (o *output) define(c *cobra.Command, words ...string) {
	o.words = words
	list := ""
	for i, w := range words {
		switch {
		case i == 0:
			list = w
		case i == len(words)-1:
			list += " or " + w
		default:
			list += ", " + w
		}
	}
	c.Flags().StringVarP(&o.format, "output", "o", words[0], "what to print: "+list)
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

func (o *output) check() error { return oneOf("output", o.format, o.words...) }

// print writes an answer as JSON, or as the text that f makes of it.
func (o *output) print(w io.Writer, answer any, f func() string) error {
	var err error
	if o.format == "json" {
		err = writeJSON(w, answer)
	} else {
		_, err = io.WriteString(w, f())
	}
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	return nil
}

func writeJSON(w io.Writer, answer any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(answer)
}

// me is who runs this program, as the ledger keeps it.
func me() string {
	name := "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// progress shows on a terminal how far long work is.
type progress struct {
	w     io.Writer
	is    bool
	last  time.Time
	wrote bool
}

func progressOf(c *cobra.Command) *progress {
	return &progress{w: c.ErrOrStderr(), is: terminalOf(c.ErrOrStderr()).is}
}

// show replaces what was shown before, a few times a second.
func (p *progress) show(format string, args ...any) {
	if !p.is || time.Since(p.last) < 200*time.Millisecond {
		return
	}
	p.last, p.wrote = time.Now(), true
	fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
}

// waiting shows, from a second on, that an answer is worked out and since when, until the
// function that it returns is called.
func (p *progress) waiting(what string) (end func()) {
	stop, over := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(over)
		defer p.done()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
				p.show("%s: the server has been working it out for %d s (ctrl-c ends it)", what, int(time.Since(began).Seconds()))
			}
		}
	}()
	return func() {
		close(stop)
		<-over
	}
}

// step shows a step of the server's.
func (p *progress) step(s v1.Progress) {
	text := s.Stage
	if s.Total > 0 {
		text += fmt.Sprintf(": %d of %d", s.Done, s.Total)
	} else if s.Done > 0 {
		text += fmt.Sprintf(": %d", s.Done)
	}
	if !s.At.IsZero() {
		text += ", " + s.At.UTC().Format("2006-01-02 15:04")
	}
	p.show("%s", text)
}

// done takes away what was shown.
func (p *progress) done() {
	if p.wrote {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
