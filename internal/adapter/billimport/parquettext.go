// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// textOf is how a column's values become text: decimals exactly, floating point
// as its shortest decimal, times in UTC.
func textOf(typ parquet.Type) (func(parquet.Value) (string, error), error) {
	if l := typ.LogicalType(); l != nil {
		switch v := l.Value.(type) {
		case *format.DecimalType:
			return decimalText(int(v.Scale))
		case *format.TimestampType:
			unit, err := unitOf(v.Unit)
			if err != nil {
				return nil, err
			}
			return func(v parquet.Value) (string, error) { return instantText(v.Int64(), unit), nil }, nil
		case *format.DateType:
			return func(v parquet.Value) (string, error) {
				return time.Unix(int64(v.Int32())*86400, 0).UTC().Format(time.DateOnly), nil
			}, nil
		}
	} else if c := typ.ConvertedType(); c != nil {
		switch *c {
		case deprecated.TimestampMillis:
			return func(v parquet.Value) (string, error) { return instantText(v.Int64(), time.Millisecond), nil }, nil
		case deprecated.TimestampMicros:
			return func(v parquet.Value) (string, error) { return instantText(v.Int64(), time.Microsecond), nil }, nil
		}
	}
	if typ.Kind() == parquet.Int96 {
		return int96Text, nil
	}
	return func(v parquet.Value) (string, error) { return v.String(), nil }, nil
}

func unitOf(u format.TimeUnit) (time.Duration, error) {
	if u.Value == nil {
		return 0, fmt.Errorf("its times have no unit")
	}
	return u.Value.Duration(), nil
}

func instantText(n int64, unit time.Duration) string {
	perSecond := int64(time.Second / unit)
	return time.Unix(n/perSecond, n%perSecond*int64(unit)).UTC().Format(time.RFC3339Nano)
}

// int96Text reads the old form of times: nanoseconds of the day and Julian day.
func int96Text(v parquet.Value) (string, error) {
	const unixEpoch = 2_440_588
	x := v.Int96()
	nanos := int64(uint64(x[1])<<32 | uint64(x[0]))
	if nanos < 0 || nanos >= int64(24*time.Hour) {
		return "", fmt.Errorf("it is no time of a day")
	}
	return time.Unix((int64(x[2])-unixEpoch)*86400, nanos).UTC().Format(time.RFC3339Nano), nil
}

func decimalText(scale int) (func(parquet.Value) (string, error), error) {
	const largest = 76
	if scale < 0 || scale > largest {
		return nil, fmt.Errorf("its decimals have %d places", scale)
	}
	return func(v parquet.Value) (string, error) {
		n := new(big.Int)
		switch v.Kind() {
		case parquet.Int32:
			n.SetInt64(int64(v.Int32()))
		case parquet.Int64:
			n.SetInt64(v.Int64())
		case parquet.ByteArray, parquet.FixedLenByteArray:
			twosComplement(n, v.ByteArray())
		default:
			return "", fmt.Errorf("a decimal stored as %s", v.Kind())
		}
		return placeDot(n, scale), nil
	}, nil
}

func twosComplement(n *big.Int, b []byte) {
	n.SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
}

func placeDot(n *big.Int, scale int) string {
	text := new(big.Int).Abs(n).String()
	if scale > 0 {
		text = strings.Repeat("0", max(0, scale+1-len(text))) + text
		text = text[:len(text)-scale] + "." + text[len(text)-scale:]
	}
	if n.Sign() < 0 {
		text = "-" + text
	}
	return text
}
