// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/pricing"
)

// awsRegions and azureRegions are the regions that the list has. Azure's are
// those of the file, with the names that nodes carry.
var awsRegions = set("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "sa-east-1", "eu-west-1", "eu-west-2", "eu-west-3", "eu-central-1", "eu-north-1", "eu-south-2",
	"ap-northeast-1", "ap-northeast-2", "ap-south-1", "ap-southeast-1", "ap-southeast-2", "cn-north-1")

var azureRegions = map[string]string{
	"us-east": "eastus", "us-east-2": "eastus2", "us-west": "westus", "us-west-2": "westus2", "us-west-3": "westus3", "us-central": "centralus",
	"us-south-central": "southcentralus", "us-north-central": "northcentralus", "canada-central": "canadacentral", "brazil-south": "brazilsouth",
	"europe-west": "westeurope", "europe-north": "northeurope", "united-kingdom-south": "uksouth", "france-central": "francecentral",
	"germany-west-central": "germanywestcentral", "sweden-central": "swedencentral", "switzerland-north": "switzerlandnorth",
	"asia-pacific-southeast": "southeastasia", "asia-pacific-east": "eastasia", "japan-east": "japaneast", "korea-central": "koreacentral",
	"australia-east": "australiaeast", "central-india": "centralindia",
}

func set(names ...string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

func readJSON(path string, v any) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := json.NewDecoder(file).Decode(v); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// readEC2 reads instances.json of ec2-instances-info: NVIDIA's GPUs on AWS. The
// file states the memory of all GPUs together.
func (c *collection) readEC2(path, dayText string) error {
	day, err := parseDay(dayText)
	if err != nil {
		return err
	}
	var instances []struct {
		Type        string  `json:"instance_type"`
		GPUs        int     `json:"GPU"`
		Model       string  `json:"GPU_model"`
		TotalMemory int64   `json:"GPU_memory"`
		VCPU        int64   `json:"vCPU"`
		Memory      float64 `json:"memory"`
		Pricing     map[string]struct {
			Linux struct {
				OnDemand string `json:"ondemand"`
			} `json:"linux"`
		} `json:"pricing"`
	}
	if err := readJSON(path, &instances); err != nil {
		return err
	}
	for _, in := range instances {
		if in.GPUs == 0 || !strings.HasPrefix(in.Model, "NVIDIA") {
			continue
		}
		c.shape("aws", in.Type, pricing.Shape{
			GPUs: in.GPUs, Model: in.Model, GPUMemoryGiB: in.TotalMemory / int64(in.GPUs), GPUMemoryTotalGiB: in.TotalMemory,
			CPUMilli: 1000 * in.VCPU, MemoryBytes: uint64(in.Memory * (1 << 30)),
		})
		for region, p := range in.Pricing {
			if !awsRegions[region] || p.Linux.OnDemand == "" {
				continue
			}
			price, err := rate(p.Linux.OnDemand)
			if err != nil {
				return fmt.Errorf("%s: %s in %s: %w", path, in.Type, region, err)
			}
			c.prices = append(c.prices, seen{of: of{provider: "aws", region: region, instanceType: in.Type, currency: "USD"}, node: price, day: day, source: "ec2instances"})
		}
	}
	return nil
}

// azureGPUs is a count and a model, "8x A100 (NVlink)"; fractions of a GPU are
// not counted.
var azureGPUs = regexp.MustCompile(`^(?:(\d+)|\d/\d)(?:th)?[xX] (K80|P40|P100|V100|T4|M60|A10|A100|H100|H200)\b`)

// azureNames are sizes whose label is not their name with underscores.
var azureNames = map[string]string{"ND96asr A100 v4": "Standard_ND96asr_v4"}

// readAzure reads azure-instances.json of ec2-instances-info. Its prices are
// numbers, which are kept as they are written.
func (c *collection) readAzure(path, dayText string) error {
	day, err := parseDay(dayText)
	if err != nil {
		return err
	}
	var instances []struct {
		Name    string  `json:"pretty_name_azure"`
		GPU     any     `json:"GPU"`
		VCPU    int64   `json:"vcpu"`
		Memory  float64 `json:"memory"`
		Pricing map[string]struct {
			Linux struct {
				OnDemand json.Number `json:"ondemand"`
			} `json:"linux"`
		} `json:"pricing"`
	}
	if err := readJSON(path, &instances); err != nil {
		return err
	}
	for _, in := range instances {
		m := azureGPUs.FindStringSubmatch(fmt.Sprint(in.GPU))
		if m == nil {
			continue
		}
		gpus, _ := strconv.Atoi(m[1])
		name := azureLabel(in.Name)
		c.shape("azure", name, pricing.Shape{GPUs: gpus, Model: "NVIDIA " + m[2], CPUMilli: 1000 * in.VCPU, MemoryBytes: uint64(in.Memory * (1 << 30))})
		for region, p := range in.Pricing {
			label, wanted := azureRegions[region]
			if !wanted || p.Linux.OnDemand == "" {
				continue
			}
			price, err := rate(p.Linux.OnDemand.String())
			if err != nil {
				return fmt.Errorf("%s: %s in %s: %w", path, name, region, err)
			}
			c.prices = append(c.prices, seen{of: of{provider: "azure", region: label, instanceType: name, currency: "USD"}, node: price, day: day, source: "ec2instances"})
		}
	}
	return nil
}

// azureLabel is the instance type as nodes are labelled.
func azureLabel(name string) string {
	if label, ok := azureNames[name]; ok {
		return label
	}
	return "Standard_" + strings.ReplaceAll(strings.TrimPrefix(name, "Standard "), " ", "_")
}
