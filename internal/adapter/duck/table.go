// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"strings"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// table is one table of the schema: its columns in the order in which rows are
// written and read. A test holds it against the real schema.
type table struct {
	name    string
	columns []column
}

type column struct {
	name string
	kind mapping.Type
}

const (
	text     = mapping.TypeVarchar
	integer  = mapping.TypeInteger
	bigint   = mapping.TypeBigInt
	ubigint  = mapping.TypeUBigInt
	uinteger = mapping.TypeUInteger
	double   = mapping.TypeDouble
	boolean  = mapping.TypeBoolean
)

// list is the columns as SQL names them.
func (t table) list() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return strings.Join(names, ", ")
}

// columnsOf reads "name kind" pairs.
func columnsOf(pairs ...any) []column {
	var out []column
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, column{pairs[i].(string), pairs[i+1].(mapping.Type)})
	}
	return out
}

// rowTables hold the rows of batches, placeTables what those rows name by
// number. Together they are an hour; usage_gap has a copy of a part.
var (
	rowTables   = []table{batchTable, partitionTable, holderTable, grantTable, podTable, findingTable}
	wordTables  = []table{placeTable, ownerTable, entitlementTable, factsTable}
	hourTables  = append(append([]table{}, wordTables...), rowTables...)
	everyTables = append(append([]table{}, hourTables...), gapTable)
	// shapeTables are not of any hour.
	shapeTables = []table{shapeTable, shapeTextTable}
)
