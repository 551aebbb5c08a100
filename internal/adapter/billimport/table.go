// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
)

// table is a file as rows of texts.
type table interface {
	// next is the next row, io.EOF at the end. A *Problem is one bad row, after
	// which reading goes on.
	next() (record, error)
	// columns are the names that are known when r has been read.
	columns(r record) []string
}

// record is one row. Columns are asked for by their plain names (plain).
type record interface {
	// text is the cell as text, "" where it is null or there is no such column.
	text(column string) string
	// title is the column's name as the file writes it.
	title(column string) string
}

// plain is a column's name in lower case with "_" for ".": exports of the same
// table differ in both.
func plain(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), ".", "_")
}

// unnull is the text of a cell, "" where it is a null however written.
func unnull(text string) string {
	if text == "NULL" || text == "null" || text == `\N` {
		return ""
	}
	return text
}

// openTable finds out by the first bytes what kind of file it is.
func openTable(in Input) (table, func(), error) {
	nothing := func() {}
	head := make([]byte, 4)
	n, err := in.Data.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nothing, err
	}
	head = head[:n]
	section := io.NewSectionReader(in.Data, 0, in.Size)
	switch {
	case bytes.Equal(head, []byte("PAR1")):
		t, err := openParquet(in)
		if err != nil {
			return nil, nothing, err
		}
		return t, t.close, nil
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(bufio.NewReader(section))
		if err != nil {
			return nil, nothing, err
		}
		t, err := openText(z)
		return t, func() { z.Close() }, err
	case bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return nil, nothing, errors.New("it is a zip archive: unpack it first")
	}
	t, err := openText(section)
	return t, nothing, err
}

// openText tells JSON from CSV.
func openText(r io.Reader) (table, error) {
	b := bufio.NewReaderSize(r, 1<<16)
	if head, _ := b.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		if _, err := b.Discard(3); err != nil {
			return nil, err
		}
	}
	for {
		head, err := b.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return nil, errors.New("it is empty")
		case err != nil:
			return nil, err
		case head[0] == ' ' || head[0] == '\n' || head[0] == '\r' || head[0] == '\t':
			if _, err := b.Discard(1); err != nil {
				return nil, err
			}
		case head[0] == '{' || head[0] == '[':
			return openJSON(b)
		default:
			return openCSV(b)
		}
	}
}

// sha is the SHA-256 of the file in hexadecimal.
func sha(in Input) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, io.NewSectionReader(in.Data, 0, in.Size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
