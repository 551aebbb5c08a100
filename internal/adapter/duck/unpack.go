// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"encoding/binary"
	"unsafe"
)

// unpacker makes chunks of runs again. One chunk serves the next.
type unpacker struct {
	chunk
	columns []room
	values  []uint64
}

// room is what the values of a column are unpacked into.
type room struct {
	words []uint64 // the values, as wide as the column's type
	valid []uint64
	texts []string
}

// unpack makes the rows of a run. The columns that say of which batch they are have
// no values.
func (u *unpacker) unpack(p *packer, r *run) *chunk {
	n, columns := int(r.rows), kinds[r.kind].columns
	if len(u.columns) < len(columns) {
		u.columns = append(u.columns, make([]room, len(columns)-len(u.columns))...)
	}
	if cap(u.values) < n {
		u.values = make([]uint64, n)
	}
	u.size, u.vectors = n, append(u.vectors[:0], make([]vector, lineColumn)...)
	rest := p.data(r)
	for i := lineColumn; i < len(columns); i++ {
		var v vector
		v, rest = u.column(&u.columns[i], columns[i], rest, n, p.texts.list)
		u.vectors = append(u.vectors, v)
	}
	return &u.chunk
}

// column reads one column, and returns what follows it.
func (u *unpacker) column(to *room, c column, data []byte, n int, texts []string) (vector, []byte) {
	head := data[0]
	data = data[1:]
	to.fit(n)
	v := vector{data: to.pointer()}
	if head&allNull != 0 {
		clear(to.valid)
		v.valid = unsafe.Pointer(&to.valid[0])
		return v, data
	}
	least, used := binary.Uvarint(data)
	data = data[used:]
	if head&someNull != 0 {
		data = to.nulls(data, n)
		v.valid = unsafe.Pointer(&to.valid[0])
	}
	values := u.values[:n]
	data = readWide(data, values, least, int(head&widthMask))
	to.put(c, values, texts)
	if c.kind == text {
		v.texts = to.texts
	}
	return v, data
}

// pointer is where the values are.
func (to *room) pointer() unsafe.Pointer { return unsafe.Pointer(&to.words[0]) }

// fit makes room for n values.
func (to *room) fit(n int) {
	if len(to.words) < n {
		to.words, to.valid = make([]uint64, n), make([]uint64, (n+63)/64)
	}
}

func (to *room) nulls(data []byte, n int) []byte {
	clear(to.valid)
	for i := range n {
		to.valid[i/64] |= uint64(data[i/8]>>(i%8)&1) << (i % 64)
	}
	return data[(n+7)/8:]
}

// put writes values as DuckDB has those of the column's type.
func (to *room) put(c column, values []uint64, texts []string) {
	switch c.kind {
	case integer, uinteger:
		into := unsafe.Slice((*uint32)(to.pointer()), len(values))
		for i, x := range values {
			into[i] = uint32(x)
		}
	case boolean:
		into := unsafe.Slice((*uint8)(to.pointer()), len(values))
		for i, x := range values {
			into[i] = uint8(x)
		}
	case text:
		if cap(to.texts) < len(values) {
			to.texts = make([]string, len(values))
		}
		to.texts = to.texts[:len(values)]
		for i, x := range values {
			to.texts[i] = ""
			if x < uint64(len(texts)) {
				to.texts[i] = texts[x]
			}
		}
	default:
		copy(to.words, values)
	}
}

// readWide reads by how much each value is more than the least.
func readWide(data []byte, into []uint64, least uint64, width int) []byte {
	switch width {
	case 0:
		for i := range into {
			into[i] = least
		}
	case 1:
		for i := range into {
			into[i] = least + uint64(data[i])
		}
	case 2:
		for i := range into {
			into[i] = least + uint64(binary.LittleEndian.Uint16(data[i*2:]))
		}
	case 4:
		for i := range into {
			into[i] = least + uint64(binary.LittleEndian.Uint32(data[i*4:]))
		}
	case 8:
		for i := range into {
			into[i] = least + binary.LittleEndian.Uint64(data[i*8:])
		}
	}
	return data[len(into)*width:]
}
