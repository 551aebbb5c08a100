// SPDX-License-Identifier: Apache-2.0

package tablefile

import (
	"fmt"
	"io"
	"math/big"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

type parquetWriter[R any] struct {
	w       *parquet.Writer
	columns []Column[R]
	order   []int // place in the schema to place in columns
}

// rowsInGroup bounds the memory of the writer.
const rowsInGroup = 50_000

// decimalBytes: 8 bytes hold fewer digits than an amount has.
const decimalBytes = 16

func newParquet[R any](w io.Writer, name string, columns []Column[R]) *parquetWriter[R] {
	group := parquet.Group{}
	place := map[string]int{}
	for i := range columns {
		place[columns[i].Name] = i
		group[columns[i].Name] = parquet.Optional(columns[i].node())
	}
	schema := parquet.NewSchema(name, group)
	p := &parquetWriter[R]{columns: columns, w: parquet.NewWriter(w, schema, parquet.Compression(&zstd.Codec{}), parquet.MaxRowsPerRowGroup(rowsInGroup))}
	for _, path := range schema.Columns() {
		p.order = append(p.order, place[path[0]])
	}
	return p
}

func (c *Column[R]) node() parquet.Node {
	switch {
	case c.Amount != nil:
		return parquet.Decimal(9, 38, parquet.FixedLenByteArrayType(decimalBytes))
	case c.Wide != nil:
		return parquet.Decimal(0, 38, parquet.FixedLenByteArrayType(decimalBytes))
	case c.Int != nil:
		return parquet.Int(64)
	case c.Real != nil:
		return parquet.Leaf(parquet.DoubleType)
	case c.Time != nil:
		return parquet.Timestamp(parquet.Millisecond)
	}
	return parquet.String()
}

func (p *parquetWriter[R]) write(row R) error {
	cells := make(parquet.Row, len(p.order))
	for i, at := range p.order {
		v, err := p.columns[at].value(row)
		if err != nil {
			return err
		}
		level := 1
		if v.IsNull() {
			level = 0
		}
		cells[i] = v.Level(0, level, i)
	}
	_, err := p.w.WriteRows([]parquet.Row{cells})
	return err
}

func (c *Column[R]) value(row R) (parquet.Value, error) {
	switch {
	case c.Amount != nil:
		if n := c.Amount(row); n != nil {
			return parquet.FixedLenByteArrayValue(bigEndian(big.NewInt(int64(*n)))), nil
		}
	case c.Wide != nil:
		if text := c.Wide(row); text != "" {
			n, ok := new(big.Int).SetString(text, 10)
			if !ok || n.BitLen() > 8*decimalBytes-1 {
				return parquet.NullValue(), fmt.Errorf("column %s: %q is no whole number of 128 bits", c.Name, text)
			}
			return parquet.FixedLenByteArrayValue(bigEndian(n)), nil
		}
	case c.Int != nil:
		if n := c.Int(row); n != nil {
			return parquet.Int64Value(*n), nil
		}
	case c.Real != nil:
		if n := c.Real(row); n != nil {
			return parquet.DoubleValue(*n), nil
		}
	case c.Time != nil:
		if t := c.Time(row); !t.IsZero() {
			return parquet.Int64Value(t.UnixMilli()), nil
		}
	default:
		if text, _ := c.text(row); text != "" {
			return parquet.ByteArrayValue([]byte(text)), nil
		}
	}
	return parquet.NullValue(), nil
}

// bigEndian is a number in two's complement.
func bigEndian(n *big.Int) []byte {
	b := new(big.Int).Set(n)
	if n.Sign() < 0 {
		b.Add(b, new(big.Int).Lsh(big.NewInt(1), 8*decimalBytes))
	}
	return b.FillBytes(make([]byte, decimalBytes))
}

func (p *parquetWriter[R]) close() error { return p.w.Close() }
