// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
)

// A checkpoint writes new metadata into the free parts of blocks whose other parts
// the last checkpoint still uses, each block as a whole, in place. Killed in the
// middle of that write, a block is half the old and half the new one. What the
// last checkpoint uses of it is the same in both; only the checksum, which is of
// the whole block, fits neither, and DuckDB opens the file no more. (Seen with
// 1.5.6 about once in some hundred kills; the files mended like this had
// everything.)
//
// So a block is mended by giving it the checksum of what it holds, under the
// conditions that make it such a block: it was met while opening, where only
// metadata is read, and the log is there, which it is until a checkpoint is done.
// Afterwards everything is read once. The block is kept as it was.

const (
	blocksBegin = 3 * 4096
	blockSize   = 256 << 10
	// maxMends bounds how many blocks are mended: a checkpoint writes few.
	maxMends = 16
)

var tornBlock = regexp.MustCompile(`Corrupt database file: computed checksum (\d+) does not match stored checksum (\d+) in block at location (\d+)`)

// tear is a block whose checksum does not fit.
type tear struct {
	computed, stored uint64
	at               int64
}

// tearOf reads what DuckDB says; false where it says something else.
func tearOf(err error) (t tear, ok bool) {
	m := tornBlock.FindStringSubmatch(oneLine(err))
	if m == nil {
		return t, false
	}
	var errs [3]error
	t.computed, errs[0] = strconv.ParseUint(m[1], 10, 64)
	t.stored, errs[1] = strconv.ParseUint(m[2], 10, 64)
	t.at, errs[2] = strconv.ParseInt(m[3], 10, 64)
	return t, errors.Join(errs[:]...) == nil && t.at >= blocksBegin && (t.at-blocksBegin)%blockSize == 0
}

// mend gives a torn block its checksum, and keeps the block as it was.
func (s *Store) mend(t tear, why error) (Problem, error) {
	if info, err := os.Stat(s.path() + logSuffix); err != nil || info.Size() == 0 {
		return Problem{}, fmt.Errorf("%w: no checkpoint was interrupted, so the file was damaged otherwise", why)
	}
	f, err := os.OpenFile(s.path(), os.O_RDWR, 0)
	if err != nil {
		return Problem{}, err
	}
	defer f.Close() // synced below
	block := make([]byte, blockSize)
	if _, err := f.ReadAt(block, t.at); err != nil {
		return Problem{}, err
	}
	if binary.LittleEndian.Uint64(block) != t.stored {
		return Problem{}, fmt.Errorf("%w: the block does not begin with its checksum", why)
	}
	kept := s.path() + ".torn-" + s.opt.Now().UTC().Format(asideTime) + fmt.Sprintf("-%d", t.at)
	if err := os.WriteFile(kept, bytes.Clone(block), 0o640); err != nil {
		return Problem{}, err
	}
	sum := binary.LittleEndian.AppendUint64(nil, t.computed)
	if _, err := f.WriteAt(sum, t.at); err != nil {
		return Problem{}, err
	}
	p := Problem{Kind: TornBlock, File: kept, Detail: oneLine(why),
		Hint: "a checkpoint was cut off while it wrote this block; it was mended and the whole journal was read; nothing is lost; the file named here is the block as it was, at its offset"}
	return p, f.Sync()
}

// readAll reads every row once: what is damaged shows now, not in a bill.
func (s *Store) readAll(ctx context.Context) error {
	for _, t := range slices.Concat(everyTables, shapeTables, []table{machineTable}, ledgerTables, activityTables, []table{decisionTable}) {
		sum := "count(*)"
		for _, c := range t.columns {
			sum += fmt.Sprintf(", bit_xor(hash(%s))", c.name)
		}
		if _, err := s.conn.ExecContext(ctx, "SELECT "+sum+" FROM "+t.name); err != nil {
			return fmt.Errorf("read %s: %s", t.name, oneLine(err))
		}
	}
	return nil
}
