// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/money"
)

var generatedAt = regexp.MustCompile(`// generated at (\d{4}-\d{2}-\d{2})T`)

// readKarpenter reads a generated file of Karpenter's AWS provider: one map
// literal of region to instance type to price. Only types whose shape is known
// are taken: they have GPUs.
func (c *collection) readKarpenter(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	m := generatedAt.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s: does not say when it was generated", path)
	}
	day, err := parseDay(string(m[1]))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		return err
	}
	var bad error
	eachPair(file, func(region string, prices *ast.CompositeLit) {
		if !awsRegions[region] {
			return
		}
		for _, e := range prices.Elts {
			if err := c.karpenterPrice(region, e, day); err != nil && bad == nil {
				bad = fmt.Errorf("%s: %s: %w", path, region, err)
			}
		}
	})
	return bad
}

// eachPair finds the pairs of a name and a literal of prices, wherever they are.
func eachPair(file *ast.File, f func(name string, value *ast.CompositeLit)) {
	ast.Inspect(file, func(n ast.Node) bool {
		pair, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if inner, isLit := pair.Value.(*ast.CompositeLit); isLit {
			if name, err := unquote(pair.Key); err == nil {
				f(name, inner)
			}
		}
		return true
	})
}

func unquote(e ast.Expr) (string, error) {
	lit, ok := e.(*ast.BasicLit)
	if !ok {
		return "", fmt.Errorf("not a literal")
	}
	return strconv.Unquote(lit.Value)
}

func (c *collection) karpenterPrice(region string, e ast.Expr, day int64) error {
	pair, ok := e.(*ast.KeyValueExpr)
	if !ok {
		return fmt.Errorf("a price without an instance type")
	}
	name, err := unquote(pair.Key)
	if err != nil {
		return err
	}
	if _, hasGPUs := c.shapes[[2]string{"aws", name}]; !hasGPUs {
		return nil
	}
	value, ok := pair.Value.(*ast.BasicLit)
	if !ok {
		return fmt.Errorf("%s: the price is no literal", name)
	}
	price, err := rate(value.Value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	currency := money.Currency("USD")
	if strings.HasPrefix(region, "cn-") {
		currency = "CNY"
	}
	c.prices = append(c.prices, seen{of: of{provider: "aws", region: region, instanceType: name, currency: currency}, node: price, day: day, source: "karpenter-aws"})
	return nil
}
