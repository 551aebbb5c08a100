// SPDX-License-Identifier: Apache-2.0

// Command listprices makes the built-in list of prices from public data that
// somebody has fetched, and from the prices in seen/ that were read by hand.
// README.md says how to fetch the data and what the sources are.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type paths []string

func (p *paths) String() string     { return strings.Join(*p, ",") }
func (p *paths) Set(s string) error { *p = append(*p, s); return nil }

func main() {
	var karpenter paths
	flag.Var(&karpenter, "karpenter-aws", "zz_generated.pricing_aws*.go of karpenter-provider-aws; may be given several times")
	ec2 := flag.String("ec2-instances", "", "instances.json of ec2-instances-info")
	azure := flag.String("azure-instances", "", "azure-instances.json of ec2-instances-info")
	day := flag.String("instances-day", "2025-05-28", "the day on which both were made")
	seen := flag.String("seen", "tools/listprices/seen", "folder of the prices that were read by hand")
	out := flag.String("out", "internal/adapter/listprices", "folder for prices.csv and sources.csv")
	flag.Parse()
	if err := run(karpenter, *ec2, *azure, *day, *seen, *out); err != nil {
		fmt.Fprintln(os.Stderr, "listprices:", err)
		os.Exit(1)
	}
}

func run(karpenter paths, ec2, azure, day, seenDir, out string) error {
	if len(karpenter) == 0 || ec2 == "" || azure == "" {
		return fmt.Errorf("give --karpenter-aws, --ec2-instances and --azure-instances; tools/listprices/README.md says where they come from")
	}
	var all collection
	if err := all.readSeen(seenDir); err != nil {
		return err
	}
	// The shapes first: of Karpenter's types only those with GPUs are wanted.
	if err := all.readEC2(ec2, day); err != nil {
		return err
	}
	if err := all.readAzure(azure, day); err != nil {
		return err
	}
	for _, path := range karpenter {
		if err := all.readKarpenter(path); err != nil {
			return err
		}
	}
	rows, dropped := all.rows()
	for _, d := range dropped {
		fmt.Fprintf(os.Stderr, "left out: %s: %s: %s\n", d.Row, d.Doubt, d.Says)
	}
	if err := write(filepath.Join(out, "prices.csv"), rows); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%d rows, %d left out\n", len(rows), len(dropped))
	return copyFile(filepath.Join(seenDir, "sources.csv"), filepath.Join(out, "sources.csv"))
}
