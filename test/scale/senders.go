// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// cluster is what the server and the records call this one.
const cluster = "scale"

// sender is an agent's way to the server: its own shipping loop, HTTP client,
// connection and token. Its spool is in memory.
type sender struct {
	node    int
	spool   *memorySpool
	shipper *ship.Shipper
}

// minute is a minute's record of a node with eight GPUs and one pod on each. hour is
// when the node's first began.
func minute(node int, seq uint64, hour time.Time) usage.Batch {
	b := storetest.Minute(fmt.Sprintf("%04d", node), "boot", seq, gpusPerNode, 1)
	b.Cluster, b.Node = cluster, nodeName(node)
	shift(reflect.ValueOf(&b).Elem(), hour.UnixMilli()-storetest.Start)
	return b
}

// shift moves every time in a value.
func shift(v reflect.Value, by int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			shift(v.Elem(), by)
		}
	case reflect.Slice:
		for i := range v.Len() {
			shift(v.Index(i), by)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			if n := v.Type().Field(i).Name; (n == "StartMS" || n == "CreatedMS") && f.Kind() == reflect.Int64 && f.Int() != 0 {
				f.SetInt(f.Int() + by)
				continue
			}
			shift(f, by)
		}
	}
}

// newSenders makes one sender for each node, with the token of the agent's pod there.
func newSenders(ctx context.Context, f *fleet, dir, address string) ([]*sender, error) {
	out := make([]*sender, f.nodes)
	err := each(f.nodes, 16, func(i int) error {
		t, err := token(ctx, agentAccount, "gputally", agentPod(i))
		if err != nil {
			return err
		}
		file := filepath.Join(dir, agentPod(i))
		if err := os.WriteFile(file, []byte(t), 0o600); err != nil {
			return err
		}
		client, err := ingest.NewClient(ingest.ClientOptions{Server: address, TokenFile: file, CAFile: serverCA})
		if err != nil {
			return err
		}
		s := &sender{node: i, spool: &memorySpool{}}
		s.shipper, err = ship.New(ship.Config{Agent: fmt.Sprintf("%04d", i)}, s.spool, client, ingest.Aside{Dir: filepath.Join(dir, "refused")})
		out[i] = s
		return err
	})
	return out, err
}

// write closes the windows from one number to another.
func (s *sender) write(first, last uint64, hour time.Time) error {
	for seq := first; seq <= last; seq++ {
		b := minute(s.node, seq, hour)
		text, err := json.Marshal(&b)
		if err != nil {
			return err
		}
		s.spool.append(ship.Entry{Source: journal.SourceOf(&b), Seq: seq, Payload: text})
	}
	return nil
}

// memorySpool is a spool that ends with its process. What is acknowledged is dropped.
type memorySpool struct {
	mu      sync.Mutex
	entries []ship.Entry // the first was not acknowledged yet
	acked   int64        // how many were
}

func (m *memorySpool) append(e ship.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	e.Next = ship.Position{Segment: 1, Offset: m.acked + int64(len(m.entries)) + 1}
	m.entries = append(m.entries, e)
}

// Walk reads on from a position.
func (m *memorySpool) Walk(from ship.Position) ship.Walk { return &memoryWalk{m, from.Offset} }

// Acked is up to where records were dropped.
func (m *memorySpool) Acked() ship.Position {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.acked == 0 {
		return ship.Position{}
	}
	return ship.Position{Segment: 1, Offset: m.acked}
}

// Ack drops records.
func (m *memorySpool) Ack(p ship.Position) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := p.Offset - m.acked; n > 0 {
		m.entries, m.acked = m.entries[n:], p.Offset
	}
	return nil
}

type memoryWalk struct {
	spool *memorySpool
	at    int64
}

// Next is the next record, io.EOF where there is none yet.
func (w *memoryWalk) Next() (ship.Entry, error) {
	w.spool.mu.Lock()
	defer w.spool.mu.Unlock()
	w.at = max(w.at, w.spool.acked)
	i := w.at - w.spool.acked
	if i >= int64(len(w.spool.entries)) {
		return ship.Entry{}, io.EOF
	}
	w.at++
	return w.spool.entries[i], nil
}

// Close has nothing to do.
func (w *memoryWalk) Close() error { return nil }

// troubles are what senders failed with and has not gone well since.
func troubles(senders []*sender) error {
	var failing []error
	for _, s := range senders {
		if st := s.shipper.Status(); st.Refused > 0 || st.LastError != "" {
			failing = append(failing, fmt.Errorf("%s: %d records refused; %s", nodeName(s.node), st.Refused, st.LastError))
		}
	}
	if len(failing) == 0 {
		return nil
	}
	return fmt.Errorf("%d senders: %w", len(failing), errors.Join(failing[:1]...))
}
