// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A frame is marker, payload length, CRC-32C of length and payload, payload.
// The marker begins with 0xFF, which no JSON text contains, so after damage
// the next record is found by looking for it.
const (
	frameHeader = 12
	// maxPayload bounds what a damaged length can make a reader allocate.
	maxPayload = 64 << 20
	searchStep = 64 << 10
)

var (
	marker     = []byte{0xFF, 'G', 'T', '1'}
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errNoFrame = errors.New("no record here")
)

// appendFrame appends payload as a frame to dst.
func appendFrame(dst, payload []byte) []byte {
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(payload)))
	dst = append(dst, marker...)
	dst = append(dst, size[:]...)
	dst = binary.LittleEndian.AppendUint32(dst, frameSum(size[:], payload))
	return append(dst, payload...)
}

func frameSum(size, payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(size, castagnoli), castagnoli, payload)
}

// scanner walks the frames of one segment. limit is where the bytes that count
// end: the file's size, or what the writer has committed.
type scanner struct {
	r     io.ReaderAt
	limit int64
	off   int64
}

// next returns the payload of the frame at off and moves behind it. At the
// limit it returns io.EOF. Where no frame begins it returns a *Problem that
// covers the bytes up to the next frame, or up to the limit as a TornTail,
// and moves there.
func (s *scanner) next() ([]byte, error) {
	if s.off >= s.limit {
		return nil, io.EOF
	}
	payload, err := s.frameAt(s.off)
	if err == nil {
		s.off += frameHeader + int64(len(payload))
		return payload, nil
	}
	if !errors.Is(err, errNoFrame) {
		return nil, err
	}
	return nil, s.skip(err)
}

// skip moves to the next whole frame and describes what was passed over.
func (s *scanner) skip(why error) error {
	from := s.off
	for at := from + 1; ; at++ {
		hit, err := s.find(at)
		if err != nil {
			return err
		}
		if hit < 0 {
			s.off = s.limit
			return &Problem{Kind: TornTail, Offset: from, Length: s.limit - from, Detail: why.Error()}
		}
		if _, err := s.frameAt(hit); err == nil {
			s.off = hit
			return &Problem{Kind: Corrupt, Offset: from, Length: hit - from, Detail: why.Error()}
		} else if !errors.Is(err, errNoFrame) {
			return err
		}
		at = hit
	}
}

// frameAt reads the frame that begins at off, or says why there is none.
func (s *scanner) frameAt(off int64) ([]byte, error) {
	size, sum, err := s.headerAt(off)
	if err != nil {
		return nil, err
	}
	payload := make([]byte, size)
	if _, err := s.r.ReadAt(payload, off+frameHeader); err != nil {
		return nil, fmt.Errorf("read record at byte %d: %w", off, err)
	}
	var sized [4]byte
	binary.LittleEndian.PutUint32(sized[:], uint32(size))
	if frameSum(sized[:], payload) != sum {
		return nil, fmt.Errorf("%w: checksum differs", errNoFrame)
	}
	return payload, nil
}

// headerAt reads the length and checksum of the frame that begins at off. The
// frame lies within the limit; its payload was not looked at.
func (s *scanner) headerAt(off int64) (size int64, sum uint32, err error) {
	var h [frameHeader]byte
	if off+frameHeader > s.limit {
		return 0, 0, fmt.Errorf("%w: fewer bytes than a record header", errNoFrame)
	}
	if _, err := s.r.ReadAt(h[:], off); err != nil {
		return 0, 0, fmt.Errorf("read record header at byte %d: %w", off, err)
	}
	if !bytes.Equal(h[:4], marker) {
		return 0, 0, fmt.Errorf("%w: no record marker", errNoFrame)
	}
	size = int64(binary.LittleEndian.Uint32(h[4:8]))
	if size > maxPayload || off+frameHeader+size > s.limit {
		return 0, 0, fmt.Errorf("%w: length %d runs past the end", errNoFrame, size)
	}
	return size, binary.LittleEndian.Uint32(h[8:12]), nil
}

// find returns the offset of the first marker at or after off, or -1.
func (s *scanner) find(off int64) (int64, error) {
	buf := make([]byte, searchStep)
	for off < s.limit {
		n, err := s.r.ReadAt(buf[:min(searchStep, s.limit-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("search record after byte %d: %w", off, err)
		}
		if i := bytes.Index(buf[:n], marker); i >= 0 {
			return off + int64(i), nil
		}
		if n < len(marker) {
			return -1, nil
		}
		// A marker may straddle two steps.
		off += int64(n - len(marker) + 1)
	}
	return -1, nil
}

// count returns how many frames lie in [off, limit), by their headers alone.
func (s *scanner) count() (n int, err error) {
	for s.off < s.limit {
		size, _, err := s.headerAt(s.off)
		switch {
		case err == nil:
			s.off += frameHeader + size
			n++
		case errors.Is(err, errNoFrame):
			if err := s.skip(err); !isProblem(err) {
				return n, err
			}
		default:
			return n, err
		}
	}
	return n, nil
}

func isProblem(err error) bool {
	var p *Problem
	return errors.As(err, &p)
}
