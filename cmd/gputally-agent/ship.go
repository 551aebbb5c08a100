// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/adapter/promexport"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/journal"
)

// serverConfig says to which server records are shipped; without an address they
// stay in the spool.
type serverConfig struct{ address, tokenFile, caFile string }

func (c *serverConfig) bind(fs *pflag.FlagSet) {
	fs.StringVar(&c.address, "server", "", "`URL` of the server that takes the usage records, such as https://gputally.example:9403 (default: they stay in the spool)")
	fs.StringVar(&c.tokenFile, "server-token-file", "", "`FILE` with the server's bearer token, read for every request; the first of several counts")
	fs.StringVar(&c.caFile, "server-ca-file", "", "`FILE` with the certificates (PEM) that the server's is checked against (default: the system's)")
}

// check finds mistakes in what is set, files included. It does not connect.
func (c *serverConfig) check() error {
	if c.address == "" {
		for name, value := range map[string]string{"server-token-file": c.tokenFile, "server-ca-file": c.caFile} {
			if value != "" {
				return fmt.Errorf("%s is set and server is not: records are shipped nowhere; set server, or leave %s out", name, name)
			}
		}
		return nil
	}
	if c.tokenFile != "" {
		if _, err := ingest.NewAgentTokenFile(c.tokenFile); err != nil {
			return fmt.Errorf("server-token-file: %w", err)
		}
	}
	if _, err := c.client(); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

func (c *serverConfig) client() (*ingest.Client, error) {
	return ingest.NewClient(ingest.ClientOptions{Server: c.address, TokenFile: c.tokenFile, CAFile: c.caFile,
		UserAgent: "gputally-agent/" + versionText()})
}

// openToken says that the token goes over the wire as it is.
func (c *serverConfig) openToken() bool {
	u, err := url.Parse(c.address)
	if err != nil || u.Scheme != "http" || c.tokenFile == "" || u.Hostname() == "localhost" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return err != nil || !ip.IsLoopback()
}

// refusedDir is where batches lie that the server refused for good, within the
// spool's directory, which is on a disk that outlives the agent.
const refusedDir = "refused"

// flushFor is how long the end of the agent may wait for the server to take what
// is there. What it does not take is shipped after the next start.
const flushFor = 5 * time.Second

// newShipper ships the spool to the server, nil where none is set.
func newShipper(c *config, keeper recordKeeper, log *slog.Logger) (*ship.Shipper, error) {
	if c.server.address == "" {
		return nil, nil
	}
	client, err := c.server.client()
	if err != nil {
		return nil, inputError{err}
	}
	if c.server.openToken() {
		log.Warn("the token for the server is sent without encryption", "server", c.server.address, "hint", "use https://, unless something else encrypts the way there")
	}
	return ship.New(ship.Config{Agent: keeper.Agent(), Log: log.With("server", c.server.address)},
		queue{keeper.Spool}, client, ingest.Aside{Dir: filepath.Join(c.spoolDir, refusedDir)})
}

// flush ships what the last windows brought, after the loop has ended.
func flush(s *ship.Shipper, log *slog.Logger) {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushFor)
	defer cancel()
	if err := s.Flush(ctx); err != nil {
		log.Warn("the last records are not shipped; the spool keeps them until the next start", "error", err)
	}
}

// shipState is how shipping stands, nil where there is none.
func shipState(s *ship.Shipper) *promexport.Ship {
	if s == nil {
		return nil
	}
	st := s.Status()
	return &promexport.Ship{
		Sent: st.Sent, Refused: st.Refused, Durable: st.Durable, Waiting: st.Waiting, Damaged: st.Damaged,
		Lost: st.Lost, Rewinds: st.Rewinds, Failures: st.Failures, Failing: st.LastError != "", LastSuccess: st.LastSuccess,
	}
}

// queue is the spool as the shipping loop needs it.
type queue struct{ *spool.Spool }

func (q queue) Walk(from ship.Position) ship.Walk { return walk{q.Reader(spool.Position(from))} }

func (q queue) Acked() ship.Position { return ship.Position(q.Spool.Acked()) }

func (q queue) Ack(p ship.Position) error { return q.Spool.Ack(spool.Position(p)) }

type walk struct{ *spool.Reader }

func (w walk) Next() (ship.Entry, error) {
	e, err := w.Reader.Next()
	var p *spool.Problem
	if errors.As(err, &p) {
		return ship.Entry{}, &ship.Damage{Err: p}
	}
	if err != nil {
		return ship.Entry{}, err
	}
	return ship.Entry{Source: journal.SourceOf(&e.Batch), Seq: e.Batch.Seq, Payload: e.Payload, Next: ship.Position(e.Next)}, nil
}
