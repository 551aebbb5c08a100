// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// The state files beside the segments. Each is replaced as a whole.
const (
	agentFile = "agent.json" // who: written once
	stateFile = "state.json" // what outlives a restart
	ackFile   = "ack.json"   // how far the reader came
)

// identity is agent.json: the installation's name, made up once.
type identity struct {
	Agent   string    `json:"agent"`
	Created time.Time `json:"created"`
}

// state is state.json.
type state struct {
	// LastEndMS is the end of the last window on disk, Unix milliseconds.
	LastEndMS int64 `json:"last_end_ms,omitempty"`
	// Instances holds when each MIG instance was first seen, as its owner
	// wrote it; the spool only keeps it.
	Instances json.RawMessage `json:"instances,omitempty"`
}

// readJSON reads a state file into v. A file that is not there leaves v alone.
func readJSON(dir, name string, v any) error {
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read spool state: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return &Problem{Kind: BadState, File: path, Length: int64(len(data)), Detail: err.Error()}
	}
	return nil
}

// loadJSON is readJSON for the writer: a file that is no JSON is renamed to
// NAME.bad, so that a new one can take its place.
func loadJSON(dir, name string, v any) error {
	err := readJSON(dir, name, v)
	var p *Problem
	if !errors.As(err, &p) {
		return err
	}
	if mv := os.Rename(p.File, p.File+".bad"); mv != nil {
		return fmt.Errorf("set aside %s: %w", name, mv)
	}
	p.Detail += "; kept as " + name + ".bad, started anew"
	return p
}

// saveJSON replaces a state file: after a crash it is the old or the new one.
func saveJSON(dir, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	path := filepath.Join(dir, name)
	tmp := path + ".tmp"
	if err := writeSynced(tmp, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", name, errors.Join(err, os.Remove(tmp)))
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return syncDir(dir)
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir makes created, renamed and removed names durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync spool directory: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync spool directory: %w", err)
	}
	return nil
}

// randomID returns n random bytes in hex.
func randomID(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: it crashes the program instead
	return hex.EncodeToString(b)
}

// loadIdentity reads the agent's id, or makes one up.
func loadIdentity(dir string) (identity, []*Problem, error) {
	var id identity
	var problems []*Problem
	if err := loadJSON(dir, agentFile, &id); err != nil {
		var p *Problem
		if !errors.As(err, &p) {
			return id, nil, err
		}
		problems = append(problems, p)
	}
	if id.Agent != "" {
		return id, problems, nil
	}
	id = identity{Agent: randomID(16), Created: time.Now().UTC().Truncate(time.Second)}
	return id, problems, saveJSON(dir, agentFile, id)
}
