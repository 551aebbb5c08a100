// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unsafe"
)

// The rows of an hour lie in the order of their arrival, and are wanted by node.
// As records of Go an hour of a large cluster is gigabytes. So its rows are read
// once and kept packed, column by column, a run of rows of one batch at a time:
// most columns have one value throughout a run, and the others lie close together.

// run is some rows of one batch, packed. There are hundreds of thousands of them, so
// they have no pointers that the garbage collector would follow.
type run struct {
	block, at, size uint32 // where the data is
	rows            uint32
	next            int32 // the next of the batch, -1 is none
	kind            uint8
}

// packer packs runs and keeps them. It is not safe for concurrent use; once all is
// packed, it may be read from several goroutines.
type packer struct {
	runs   []run
	first  []int32 // of each batch, -1 is none
	last   []int32
	blocks [][]byte
	texts  texts

	block  []byte // the last of the blocks
	values []uint64
}

// newPacker packs the runs of some batches.
func newPacker(batches int) *packer {
	p := &packer{first: make([]int32, batches), last: make([]int32, batches)}
	for i := range p.first {
		p.first[i] = -1
	}
	return p
}

// texts numbers texts. What is numbered stays.
type texts struct {
	numbers map[string]uint64
	list    []string
}

func (t *texts) number(b []byte) uint64 {
	n, ok := t.numbers[string(b)]
	if !ok {
		if t.numbers == nil {
			t.numbers = map[string]uint64{}
		}
		n = uint64(len(t.list))
		text := string(b)
		t.numbers[text], t.list = n, append(t.list, text)
	}
	return n
}

// packBlock is how much is asked of the memory at a time. A run that is larger than
// what is left of a block, maxRun at least, moves the block.
const (
	packBlock = 1 << 20
	maxRun    = 1 << 14
)

// pack packs the rows [from, to) of a chunk for a batch: all columns but those that
// say of which batch they are.
func (p *packer) pack(batch int, kind uint8, ch *chunk, from, to int) {
	if cap(p.block)-len(p.block) < maxRun {
		p.block = make([]byte, 0, packBlock)
		p.blocks = append(p.blocks, nil)
	}
	n, start := to-from, len(p.block)
	if cap(p.values) < n {
		p.values = make([]uint64, n)
	}
	columns := kinds[kind].columns
	for i := lineColumn; i < len(columns); i++ {
		p.column(columns[i], &ch.vectors[i], from, n)
	}
	block := len(p.blocks) - 1
	p.blocks[block] = p.block
	p.link(batch, run{block: uint32(block), at: uint32(start), size: uint32(len(p.block) - start), rows: uint32(n), next: -1, kind: kind})
}

// link puts a run behind the others of its batch.
func (p *packer) link(batch int, r run) {
	at := int32(len(p.runs))
	p.runs = append(doubled(p.runs), r)
	if p.first[batch] < 0 {
		p.first[batch] = at
	} else {
		p.runs[p.last[batch]].next = at
	}
	p.last[batch] = at
}

// data are the packed rows of a run.
func (p *packer) data(r *run) []byte { return p.blocks[r.block][r.at : r.at+r.size] }

// How the values of a column stand: a byte with the width of what each is more
// than the least (0, 1, 2, 4 or 8 bytes), and whether some are missing.
const (
	widthMask = 0x0f
	someNull  = 0x10
	allNull   = 0x20
)

// column packs the values of one column.
func (p *packer) column(c column, v *vector, from, n int) {
	missing := v.missing(from, n)
	if missing == n {
		p.block = append(p.block, allNull)
		return
	}
	values := p.values[:n]
	p.read(c, v, from, values)
	head := byte(0)
	if missing > 0 {
		head = someNull
		for i := range values {
			if v.null(from + i) {
				values[i] = 0 // what stands there is anything
			}
		}
	}
	least, most := values[0], values[0]
	for _, x := range values[1:] {
		least, most = min(least, x), max(most, x)
	}
	width := widthOf(most - least)
	p.block = append(p.block, head|byte(width))
	p.block = binary.AppendUvarint(p.block, least)
	if missing > 0 {
		p.nulls(v, from, n)
	}
	p.block = appendWide(p.block, values, least, width)
}

// nulls packs which values are there, a bit each.
func (p *packer) nulls(v *vector, from, n int) {
	for i := 0; i < n; i += 8 {
		var b byte
		for j := i; j < min(i+8, n); j++ {
			if !v.null(from + j) {
				b |= 1 << (j - i)
			}
		}
		p.block = append(p.block, b)
	}
}

// read gets the values of a column as numbers.
func (p *packer) read(c column, v *vector, from int, into []uint64) {
	switch c.kind {
	case bigint, ubigint, double:
		copy(into, unsafe.Slice((*uint64)(unsafe.Add(v.data, from*8)), len(into)))
	case integer, uinteger:
		for i, x := range unsafe.Slice((*uint32)(unsafe.Add(v.data, from*4)), len(into)) {
			into[i] = uint64(x)
		}
	case boolean:
		for i, x := range unsafe.Slice((*uint8)(unsafe.Add(v.data, from)), len(into)) {
			into[i] = uint64(x)
		}
	case text:
		p.readTexts(v, from, into)
	default:
		panic(fmt.Sprintf("duck: column %s is of a type that is not packed", c.name))
	}
}

func (p *packer) readTexts(v *vector, from int, into []uint64) {
	for i := range into {
		if !v.null(from + i) {
			into[i] = p.texts.number(v.bytes(from + i))
		}
	}
}

func widthOf(most uint64) int {
	switch n := (bits.Len64(most) + 7) / 8; {
	case n <= 2:
		return n
	case n <= 4:
		return 4
	default:
		return 8
	}
}

// appendWide writes by how much each value is more than the least.
func appendWide(to []byte, values []uint64, least uint64, width int) []byte {
	switch width {
	case 1:
		for _, x := range values {
			to = append(to, byte(x-least))
		}
	case 2:
		for _, x := range values {
			to = binary.LittleEndian.AppendUint16(to, uint16(x-least))
		}
	case 4:
		for _, x := range values {
			to = binary.LittleEndian.AppendUint32(to, uint32(x-least))
		}
	case 8:
		for _, x := range values {
			to = binary.LittleEndian.AppendUint64(to, x-least)
		}
	}
	return to
}
