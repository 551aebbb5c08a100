// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"io"
	"math/big"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"github.com/gputally/gputally/internal/core/money"
)

type parquetWriter struct {
	w     *parquet.Writer
	order []int // place in the schema to place in columns
}

// rowsInGroup bounds the memory of the writer.
const rowsInGroup = 50_000

func newParquet(w io.Writer) *parquetWriter {
	group := parquet.Group{}
	place := map[string]int{}
	for i, c := range columns {
		place[c.name] = i
		group[c.name] = parquet.Optional(nodeOf(c.kind))
	}
	schema := parquet.NewSchema("focus", group)
	p := &parquetWriter{w: parquet.NewWriter(w, schema, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowsInGroup))}
	for _, path := range schema.Columns() {
		p.order = append(p.order, place[path[0]])
	}
	return p
}

// A decimal has 16 bytes: 8 hold fewer digits than an amount has.
func nodeOf(k kind) parquet.Node {
	const scale, precision, bytes = 9, 38, 16
	switch k {
	case decimal:
		return parquet.Decimal(scale, precision, parquet.FixedLenByteArrayType(bytes))
	case instant:
		return parquet.Timestamp(parquet.Millisecond)
	}
	return parquet.String()
}

func (p *parquetWriter) write(row *charge) error {
	cells := make(parquet.Row, len(p.order))
	for i, at := range p.order {
		v := valueOf(&columns[at], row)
		level := 1
		if v.IsNull() {
			level = 0
		}
		cells[i] = v.Level(0, level, i)
	}
	_, err := p.w.WriteRows([]parquet.Row{cells})
	return err
}

func valueOf(col *column, row *charge) parquet.Value {
	switch col.kind {
	case decimal:
		if n := col.amount(row); n != nil {
			return parquet.FixedLenByteArrayValue(bigEndian(*n))
		}
	case instant:
		return parquet.Int64Value(col.time(row).UnixMilli())
	default:
		if s := col.text(row); s != "" {
			return parquet.ByteArrayValue([]byte(s))
		}
	}
	return parquet.NullValue()
}

// bigEndian is the amount in two's complement of 16 bytes.
func bigEndian(n money.Nano) []byte {
	b := big.NewInt(int64(n))
	if n < 0 {
		b.Add(b, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return b.FillBytes(make([]byte, 16))
}

func (p *parquetWriter) close() error { return p.w.Close() }
