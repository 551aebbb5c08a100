// SPDX-License-Identifier: Apache-2.0

package bill

import "strings"

// Part is what of a machine a line pays for.
type Part string

// The parts. A machine is sold whole (AWS, Azure) or in parts (GCP). Network,
// storage and whatever else carries the machine's id are beside it: they follow
// traffic and disks, not the machine's time.
const (
	Whole   Part = "machine"
	CPU     Part = "cpu"
	Memory  Part = "memory"
	GPU     Part = "gpu"
	Licence Part = "licence"
	Storage Part = "storage"
	Network Part = "network"
	Other   Part = "other"
)

// Parts are all of them, in the order an hour lists them.
func Parts() []Part { return []Part{Whole, CPU, Memory, GPU, Licence, Storage, Network, Other} }

// OfMachine says whether the part belongs to the machine's own price.
func (p Part) OfMachine() bool {
	switch p {
	case Whole, CPU, Memory, GPU, Licence:
		return true
	}
	return false
}

// PartOfSKU reads the part from the description of a Compute Engine SKU, such
// as "A2 Instance Core running in Americas" or "Nvidia H100 80GB GPU attached to
// Spot Preemptible VMs running in Virginia".
func PartOfSKU(description string) Part {
	d := strings.ToLower(description)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(d, w) {
				return true
			}
		}
		return false
	}
	switch {
	case has("licensing fee", "license fee"):
		return Licence
	case has("egress", "ingress", "data transfer", "ip charge", "network"):
		return Network
	case has("storage", " pd ", "pd capacity", "hyperdisk", "snapshot"):
		return Storage
	case has("gpu"):
		return GPU
	case has("instance ram", " ram ", " memory "):
		return Memory
	case has("instance core", " core ", " vcpu"):
		return CPU
	case has("instance"):
		return Whole
	}
	return Other
}

// machineUsage are the AWS usage types that pay for an instance's time.
var machineUsage = []string{"boxusage", "spotusage", "heavyusage", "dedicatedusage", "schedusage", "instanceusage"}

// PartOfUsageType reads the part from an AWS usage type, such as
// "USW2-BoxUsage:p4d.24xlarge" or "EUC1-DataTransfer-Out-Bytes".
func PartOfUsageType(usageType string) Part {
	u := strings.ToLower(usageType)
	for _, m := range machineUsage {
		if strings.Contains(u, m) {
			return Whole
		}
	}
	switch {
	case strings.Contains(u, "ebsoptimized"):
		return Other
	case strings.Contains(u, "ebs:"), strings.Contains(u, "volume"), strings.Contains(u, "snapshot"):
		return Storage
	case strings.Contains(u, "-bytes"), strings.Contains(u, "datatransfer"), strings.Contains(u, "natgateway"), strings.Contains(u, "elasticip"), strings.Contains(u, "publicipv4"):
		return Network
	}
	return Other
}

// PartOfUnit guesses the part of a compute charge from its unit and its text,
// for bills that have neither SKU texts nor usage types of their own: hours are
// the machine's time, volumes of data are traffic.
func PartOfUnit(unit, description string) Part {
	u, d := strings.ToLower(unit), strings.ToLower(description)
	data := strings.Contains(u, "gb") || strings.Contains(u, "gib") || strings.Contains(u, "byte") || strings.Contains(u, "tb")
	switch {
	case data && strings.Contains(u, "month"):
		return Storage
	case data:
		return Network
	case strings.Contains(d, "mbps"), strings.Contains(d, "data transfer"), strings.Contains(d, "bandwidth"):
		return Other
	case strings.Contains(u, "hour"), strings.Contains(u, "second"), strings.Contains(u, "minute"):
		return Whole
	}
	return Other
}
