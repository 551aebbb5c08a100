// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Model is the rule model.
type Model struct {
	Version  string
	Criteria []string // that a provider may support
	Rules    map[string]*Rule
	// order is the ids, sorted.
	order []string
}

// Rule is one requirement.
type Rule struct {
	ID         string
	Kind       string   `json:"Function"`   // Presence, Type, Format, Nullability, Validation, Composite
	Reference  string   `json:"Reference"`  // the column or attribute
	EntityType string   `json:"EntityType"` // Column, Dataset, Attribute
	Criteria   []string `json:"ApplicabilityCriteria"`
	Type       string   `json:"Type"` // Static: a machine can check it; Dynamic: not
	Validation struct {
		Text         string   `json:"MustSatisfy"`
		Keyword      string   `json:"Keyword"`
		Requirement  *Check   `json:"Requirement"`
		Condition    *Check   `json:"Condition"`
		Dependencies []string `json:"Dependencies"`
	} `json:"ValidationCriteria"`
}

// Check is a call of a check function.
type Check struct {
	Function string
	Items    []*Check
	Column   string
	A, B     string
	Result   string
	Rule     string
	Value    *string // nil: null
	Expected int
}

// UnmarshalJSON reads the forms the model is seen with: {} for nothing, a
// function with its arguments, and {"AND": …} without the function's key.
func (c *Check) UnmarshalJSON(data []byte) error {
	var raw struct {
		CheckFunction  string
		Items          []*Check
		ColumnName     string
		CheckCondition string // seen where ColumnName is meant
		ColumnAName, ColumnBName,
		ResultColumnName, ModelRuleId string
		Value         any
		ExpectedCount int
		ExpectedType  string
		AND           json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	d.UseNumber()
	if err := d.Decode(&raw); err != nil {
		return err
	}
	*c = Check{Function: raw.CheckFunction, Items: raw.Items, Column: raw.ColumnName + raw.CheckCondition, A: raw.ColumnAName, B: raw.ColumnBName,
		Result: raw.ResultColumnName, Rule: raw.ModelRuleId, Expected: raw.ExpectedCount}
	if raw.Value != nil {
		v := fmt.Sprint(raw.Value)
		c.Value = &v
	}
	if len(raw.AND) > 0 {
		c.Function = "AND"
		if raw.AND[0] == '[' {
			return json.Unmarshal(raw.AND, &c.Items)
		}
		c.Items = []*Check{{}}
		return json.Unmarshal(raw.AND, c.Items[0])
	}
	return nil
}

// functions are the check functions that are known.
var functions = map[string]bool{
	"": true, "AND": true, "OR": true, "CheckModelRule": true, "ColumnPresent": true, "CheckDistinctCount": true, "FormatKeyValue": true,
	"CheckValue": true, "CheckNotValue": true, "CheckSameValue": true, "CheckNotSameValue": true, "CheckDecimalValue": true,
	"CheckGreaterOrEqualThanValue": true, "CheckNationalCurrency": true, "TypeDecimal": true, "TypeString": true, "TypeDateTime": true,
	"FormatDateTime": true, "FormatNumeric": true, "FormatString": true, "FormatUnit": true, "FormatCurrency": true, "ColumnByColumnEqualsColumnValue": true,
}

// ReadModel reads a model. A rule of an unknown function, or a reference to a
// rule that is not there, is an error: nothing is passed over in silence.
func ReadModel(r io.Reader) (*Model, error) {
	var raw struct {
		Details struct {
			FOCUSVersion string
		}
		ApplicabilityCriteria map[string]json.RawMessage
		CheckFunctions        map[string]json.RawMessage
		ModelRules            map[string]*Rule
	}
	if err := json.NewDecoder(r).Decode(&raw); err != nil {
		return nil, fmt.Errorf("read rule model: %w", err)
	}
	m := &Model{Version: raw.Details.FOCUSVersion, Criteria: slices.Sorted(maps.Keys(raw.ApplicabilityCriteria)), Rules: raw.ModelRules, order: slices.Sorted(maps.Keys(raw.ModelRules))}
	for name := range raw.CheckFunctions {
		if !functions[name] {
			return nil, fmt.Errorf("read rule model: it has the check function %s, which is not known here", name)
		}
	}
	for id, rule := range m.Rules {
		rule.ID = id
		for _, c := range []*Check{rule.Validation.Requirement, rule.Validation.Condition} {
			if err := m.known(c); err != nil {
				return nil, fmt.Errorf("read rule model: rule %s: %w", id, err)
			}
		}
		for _, dep := range rule.Validation.Dependencies {
			if m.Rules[dep] == nil {
				return nil, fmt.Errorf("read rule model: rule %s depends on %s, which is not there", id, dep)
			}
		}
	}
	return m, nil
}

func (m *Model) known(c *Check) error {
	if c == nil {
		return nil
	}
	if !functions[c.Function] {
		return fmt.Errorf("the function %q is not known", c.Function)
	}
	if c.Function == "CheckModelRule" && m.Rules[c.Rule] == nil {
		return fmt.Errorf("it refers to %s, which is not there", c.Rule)
	}
	for _, item := range c.Items {
		if err := m.known(item); err != nil {
			return err
		}
	}
	return nil
}

// references are the rules that the check is made of.
func (c *Check) references() (ids []string) {
	if c == nil {
		return nil
	}
	if c.Function == "CheckModelRule" {
		ids = append(ids, c.Rule)
	}
	for _, item := range c.Items {
		ids = append(ids, item.references()...)
	}
	return ids
}

// columns are those the check looks at.
func (c *Check) columns() (names []string) {
	if c == nil {
		return nil
	}
	for _, n := range []string{c.Column, c.A, c.B, c.Result} {
		if n != "" {
			names = append(names, n)
		}
	}
	for _, item := range c.Items {
		names = append(names, item.columns()...)
	}
	return names
}
