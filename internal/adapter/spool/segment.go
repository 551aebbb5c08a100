// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A segment begins with a header of 24 bytes: magic, version, its own number,
// CRC-32C of the 20 bytes before.
const (
	segmentHeader  = 24
	segmentVersion = 1
	segmentMagic   = "GPTSPOOL"
	segmentSuffix  = ".seg"
)

// segment is one file of the queue. size is what is committed in it.
type segment struct {
	number uint64
	size   int64
}

func segmentName(number uint64) string { return fmt.Sprintf("%016d%s", number, segmentSuffix) }

func segmentPath(dir string, number uint64) string { return filepath.Join(dir, segmentName(number)) }

func encodeHeader(number uint64) []byte {
	h := append(make([]byte, 0, segmentHeader), segmentMagic...)
	h = binary.LittleEndian.AppendUint32(h, segmentVersion)
	h = binary.LittleEndian.AppendUint64(h, number)
	return binary.LittleEndian.AppendUint32(h, crc32.Checksum(h, castagnoli))
}

// checkHeader reads the header of a segment. A damaged one is a *Problem, one
// of a later format an error.
func checkHeader(r io.ReaderAt, number uint64) error {
	h := make([]byte, segmentHeader)
	n, err := r.ReadAt(h, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read segment header: %w", err)
	}
	bad := &Problem{Kind: BadHeader, Length: int64(n)}
	switch {
	case n < segmentHeader:
		bad.Detail = "fewer bytes than a segment header"
	case string(h[:8]) != segmentMagic:
		bad.Detail = "the segment does not begin with " + segmentMagic
	case crc32.Checksum(h[:20], castagnoli) != binary.LittleEndian.Uint32(h[20:]):
		bad.Detail = "header checksum differs"
	case binary.LittleEndian.Uint64(h[12:20]) != number:
		bad.Detail = fmt.Sprintf("header names segment %d: was the file renamed?", binary.LittleEndian.Uint64(h[12:20]))
	case binary.LittleEndian.Uint32(h[8:12]) != segmentVersion:
		return fmt.Errorf("segment format version %d is not known, only %d is: use the gputally that wrote it",
			binary.LittleEndian.Uint32(h[8:12]), segmentVersion)
	default:
		return nil
	}
	return bad
}

// listSegments returns the segments in dir, oldest first, sized as on disk.
func listSegments(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var out []segment
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), segmentSuffix)
		number, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil || e.Name() != segmentName(number) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, os.ErrNotExist) {
			continue // Dropped by the writer since the listing.
		}
		if err != nil {
			return nil, fmt.Errorf("list spool: %w", err)
		}
		out = append(out, segment{number: number, size: info.Size()})
	}
	slices.SortFunc(out, func(a, b segment) int {
		if a.number < b.number {
			return -1
		}
		return 1
	})
	return out, nil
}
