// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// readSeen reads the folder of what was read by hand.
func (c *collection) readSeen(dir string) error {
	if err := eachLine(filepath.Join(dir, "shapes.csv"), c.seenShape, "provider", "instance_type", "gpus", "gpu_model", "gpu_memory_gib", "vcpu", "memory_gib", "source"); err != nil {
		return err
	}
	if err := eachLine(filepath.Join(dir, "changes.csv"), c.seenChange, "provider", "instance_types", "currency", "day", "source"); err != nil {
		return err
	}
	return eachLine(filepath.Join(dir, "prices.csv"), c.seenPrice, "provider", "region", "instance_type", "model", "currency", "node_hour", "gpu_hour", "day", "source")
}

// eachLine calls f for each line of a CSV with exactly these columns.
func eachLine(path string, f func([]string) error, columns ...string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if len(records) == 0 || !slices.Equal(records[0], columns) {
		return fmt.Errorf("%s: want the columns %v", path, columns)
	}
	for i, record := range records[1:] {
		if err := f(record); err != nil {
			return fmt.Errorf("%s:%d: %w", path, i+2, err)
		}
	}
	return nil
}

func (c *collection) seenShape(f []string) error {
	numbers := make([]int64, len(f))
	for _, i := range []int{2, 4, 5, 6} {
		if f[i] == "" {
			continue
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return err
		}
		numbers[i] = n
	}
	c.shape(f[0], f[1], pricing.Shape{GPUs: int(numbers[2]), Model: f[3], GPUMemoryGiB: numbers[4], CPUMilli: 1000 * numbers[5], MemoryBytes: uint64(numbers[6]) << 30})
	return nil
}

func (c *collection) seenChange(f []string) error {
	day, err := parseDay(f[3])
	c.changes = append(c.changes, change{provider: f[0], prefix: f[1], currency: money.Currency(f[2]), day: day})
	return err
}

func (c *collection) seenPrice(f []string) (err error) {
	p := seen{of: of{provider: f[0], region: f[1], instanceType: f[2], model: f[3], currency: money.Currency(f[4])}, source: f[8]}
	if p.node, err = rate(f[5]); err != nil {
		return err
	}
	if p.gpu, err = rate(f[6]); err != nil {
		return err
	}
	p.day, err = parseDay(f[7])
	c.prices = append(c.prices, p)
	return err
}

func rate(text string) (*money.Nano, error) {
	if text == "" {
		return nil, nil
	}
	n, err := pricing.ParseRate(text)
	return &n, err
}

func write(path string, rows []pricing.Row) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := listprices.Write(file, rows); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
