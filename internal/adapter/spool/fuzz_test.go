// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"testing"
)

func versionHeader(number uint64, version uint32) []byte {
	h := append(make([]byte, 0, segmentHeader), segmentMagic...)
	h = binary.LittleEndian.AppendUint32(h, version)
	h = binary.LittleEndian.AppendUint64(h, number)
	return binary.LittleEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
}

// FuzzSegment reads arbitrary bytes as a segment: no panic, an end, every
// problem with a place inside the file, and every byte either in a record or
// in a problem.
func FuzzSegment(f *testing.F) {
	good := encodeHeader(1)
	good = appendFrame(good, []byte(`{"v":1,"seq":1}`))
	good = appendFrame(good, []byte(`{"v":1,"seq":2}`))
	f.Add(good)
	f.Add(good[:len(good)-3])
	f.Add([]byte{})
	f.Add(good[:10])
	f.Add(append(bytes.Clone(good), marker...))
	f.Add(append(bytes.Clone(good), 0xFF, 'G', 'T', '1', 0xFF, 0xFF, 0xFF, 0x03, 0, 0, 0, 0))
	f.Add(appendFrame(encodeHeader(1), []byte("not json")))
	f.Add(versionHeader(1, 7))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(segmentPath(dir, 1), data, 0o600); err != nil {
			t.Fatal(err)
		}
		checkScan(t, data)
		r := NewReader(dir, Position{})
		defer r.Close()
		for range len(data) + 2 {
			_, err := r.Next()
			var p *Problem
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.As(err, &p):
				if p.Offset < 0 || p.Offset+p.Length > int64(len(data)) || p.File == "" {
					t.Fatalf("problem outside the file of %d bytes: %+v", len(data), p)
				}
			case err != nil:
				return // an unknown version ends the reading
			}
		}
		t.Fatal("the reader did not come to an end")
	})
}

func checkScan(t *testing.T, data []byte) {
	sc := scanner{r: bytes.NewReader(data), limit: int64(len(data))}
	for at := int64(0); ; {
		payload, err := sc.next()
		var p *Problem
		switch {
		case errors.Is(err, io.EOF):
			if at != int64(len(data)) {
				t.Fatalf("ended at %d of %d", at, len(data))
			}
			return
		case errors.As(err, &p):
			if p.Offset != at || p.Length <= 0 {
				t.Fatalf("at %d: %+v", at, p)
			}
			at += p.Length
		case err != nil:
			t.Fatal(err)
		default:
			at += frameHeader + int64(len(payload))
		}
	}
}
