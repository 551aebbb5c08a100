// SPDX-License-Identifier: Apache-2.0

package billimport

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/bill"
)

// shape is one kind of bill.
type shape struct {
	name string
	// wants are columns that a bill can do without, and what it lacks then.
	wants []want
	// lines turns a row into lines; what is wrong it leaves in the cells.
	lines func(*cells) []bill.Line
}

// want is a group of columns of which one should have a value in some row.
type want struct {
	columns []string
	without string
}

// detect tells the format by the columns, in whatever order they come.
func detect(columns []string) (*shape, error) {
	has := map[string]bool{}
	for _, c := range columns {
		has[plain(c)] = true
	}
	switch {
	case has["x_originchargeid"]:
		return nil, errors.New("it is an export of gputally itself (column x_OriginChargeId), not a provider's bill")
	case has["chargecategory"] && has["chargeperiodstart"]:
		return focusFormat(has)
	case has["line_item_line_item_type"]:
		return curFormat(has)
	case has["lineitem/lineitemtype"], has["lineitem/usagestartdate"]:
		return nil, errors.New("it is an AWS CUR of the old kind (columns like lineItem/UsageStartDate): create a CUR 2.0 data export")
	case has["usage_start_time"] && (has["sku_id"] || has["sku_description"]):
		return gcpFormat(has)
	}
	return nil, fmt.Errorf("the format is not known by its columns (%s). Known are FOCUS 1.0 to 1.3 (ChargeCategory, ChargePeriodStart, …), AWS CUR 2.0 (line_item_line_item_type, …) and GCP's detailed export (usage_start_time, sku.id, …)", some(columns))
}

// some is a few names, to recognise a file by.
func some(columns []string) string {
	const few = 8
	if len(columns) > few {
		return strings.Join(columns[:few], ", ") + fmt.Sprintf(", … %d in all", len(columns))
	}
	return strings.Join(columns, ", ")
}

// need returns an error that names the columns that are missing.
func need(has map[string]bool, what string, columns ...string) error {
	var missing []string
	for _, c := range columns {
		if !has[plain(c)] {
			missing = append(missing, c)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("%s without the column %s: add it to the export", what, strings.Join(missing, ", "))
}

// isSupport knows a provider's support plan by its name.
func isSupport(service string) bool {
	for _, word := range strings.FieldsFunc(service, func(r rune) bool { return r == ' ' || r == '(' || r == ')' || r == '-' }) {
		if strings.EqualFold(word, "support") {
			return true
		}
	}
	return strings.HasPrefix(service, "AWSSupport") || strings.HasPrefix(service, "AWSPremiumSupport") || strings.HasPrefix(service, "OCBPremiumSupport") || service == "AWSDeveloperSupport"
}
