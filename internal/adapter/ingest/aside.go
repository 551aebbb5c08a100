// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/internal/core/journal"
)

// Aside is the directory in which an agent keeps batches that a server refused
// for good: BOOT-SEQ.json, the reason and the batch, one file each.
type Aside struct {
	Dir string
	// MaxBytes is what the files may take together (64 MiB). Beyond it nothing is
	// kept any more, which is an error: somebody has to look.
	MaxBytes int64
}

// refusedFile is what such a file holds.
type refusedFile struct {
	Refused journal.Refusal `json:"refused"`
	Batch   json.RawMessage `json:"batch"`
}

// Keep writes one batch, durably. Writing it again changes nothing.
func (a Aside) Keep(batch []byte, why journal.Refusal) error {
	if err := os.MkdirAll(a.Dir, 0o750); err != nil {
		return err
	}
	limit := a.MaxBytes
	if limit <= 0 {
		limit = 64 << 20
	}
	path := filepath.Join(a.Dir, fmt.Sprintf("%s-%d.json", fileName(why.Boot), why.Seq))
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	size, err := directorySize(a.Dir)
	if err != nil {
		return err
	}
	if size+int64(len(batch)) > limit {
		return fmt.Errorf("%s holds %d bytes of refused batches and may hold %d: look at them, then move them away", a.Dir, size, limit)
	}
	data, err := json.Marshal(refusedFile{Refused: why, Batch: bytes.TrimSpace(batch)})
	if err != nil {
		return err
	}
	return writeDurably(path, append(data, '\n'))
}

// fileName leaves of a name what no file system minds.
func fileName(name string) string {
	clean := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' {
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), 64)]
}

func directorySize(dir string) (n int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n, nil
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
