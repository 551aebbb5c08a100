// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gputally/gputally/internal/core/ledger"
)

// The statements of a closed month lie in one file under statements/, each a gzip
// member of its own, one behind the other: any gunzip reads all of them, and each
// can be read by itself. The file is durable before the row that names it is
// written.
const statementsDir = "statements"

// monthFile writes the statements of a month that is being closed.
type monthFile struct {
	path string // as it is called when it is done
	file *os.File
	out  *counting
	zip  *gzip.Writer
	ends []int64 // of each statement's member
}

// counting counts what goes to the file.
type counting struct {
	*bufio.Writer
	n int64
}

func (c *counting) Write(b []byte) (int, error) {
	n, err := c.Writer.Write(b)
	c.n += int64(n)
	return n, err
}

// monthFileName is the name of a month's file. What a set is called may be no name
// of a file.
func monthFileName(s ledger.Scope, m ledger.Month) string {
	sum := sha256.Sum256([]byte(s.Set))
	return fmt.Sprintf("%s-%s-%s.jsonl.gz", m, s.Currency, hex.EncodeToString(sum[:4]))
}

func newMonthFile(dir string, s ledger.Scope, m ledger.Month) (*monthFile, error) {
	dir = filepath.Join(dir, statementsDir)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	f := &monthFile{path: filepath.Join(dir, monthFileName(s, m))}
	var err error
	if f.file, err = os.OpenFile(f.path+writingSuffix, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640); err != nil {
		return nil, err
	}
	f.out = &counting{Writer: bufio.NewWriterSize(f.file, 1<<16)}
	return f, nil
}

// freeze begins the statement of a payer. It is a ledger.Freeze.
func (f *monthFile) freeze(ledger.Payer) (io.Writer, error) {
	if err := f.endMember(); err != nil {
		return nil, err
	}
	zip, err := gzip.NewWriterLevel(f.out, gzip.BestSpeed)
	f.zip = zip
	return zip, err
}

func (f *monthFile) endMember() error {
	if f.zip == nil {
		return nil
	}
	err := f.zip.Close()
	f.zip = nil
	f.ends = append(f.ends, f.out.n)
	return err
}

// finish makes the file durable and gives it its name. What had that name is of a
// closing that did not outlast an accident: it is set aside.
func (f *monthFile) finish(now string) error {
	err := errors.Join(f.endMember(), f.out.Flush(), f.file.Sync(), f.file.Close())
	if err != nil {
		return err
	}
	if _, err := os.Stat(f.path); err == nil {
		if err := os.Rename(f.path, f.path+"."+now+asideSuffix); err != nil {
			return err
		}
	}
	return errors.Join(os.Rename(f.path+writingSuffix, f.path), syncDir(filepath.Dir(f.path)), syncDir(filepath.Dir(filepath.Dir(f.path))))
}

// abandon removes what was written.
func (f *monthFile) abandon() error {
	return errors.Join(f.file.Close(), os.Remove(f.path+writingSuffix))
}

// member is a statement as it was frozen.
type member struct {
	*gzip.Reader
	file *os.File
}

func (m *member) Close() error { return errors.Join(m.Reader.Close(), m.file.Close()) }

// openMember opens a part of a month's file.
func openMember(path string, start, length int64) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(bufio.NewReader(io.NewSectionReader(file, start, length)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s from byte %d: %w", path, start, err), file.Close())
	}
	return &member{zip, file}, nil
}
