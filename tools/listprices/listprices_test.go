// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/listprices"
)

const karpenterFile = `package pricing

// generated at 2026-07-20T13:44:30Z for us-east-1

var InitialOnDemandPricesAWS = map[string]map[ec2types.InstanceType]float64{
	"us-east-1": {"m5.large": 0.096000, "p4d.24xlarge": 21.957642, "g5.xlarge": 1.006000, "g6f.large": 0.202000},
	"ap-east-1": {"g5.xlarge": 9.000000},
}
`

const ec2File = `[
{"instance_type":"p4d.24xlarge","GPU":8,"GPU_model":"NVIDIA A100","GPU_memory":320,"vCPU":96,"memory":1152.0,"pricing":{
 "us-east-1":{"linux":{"ondemand":"32.7726"}},"us-west-2":{"linux":{"ondemand":"32.7726"}},"us-gov-west-1":{"linux":{"ondemand":"39.33"}},"eu-west-1":{"windows":{"ondemand":"1"}}}},
{"instance_type":"g5.xlarge","GPU":1,"GPU_model":"NVIDIA A10G","GPU_memory":24,"vCPU":4,"memory":16.0,"pricing":{"us-east-1":{"linux":{"ondemand":"1.006"}}}},
{"instance_type":"p2.8xlarge","GPU":4,"GPU_model":"NVIDIA Tesla K80","GPU_memory":96,"vCPU":32,"memory":488.0,"pricing":{"us-east-1":{"linux":{"ondemand":"7.2"}}}},
{"instance_type":"inf1.xlarge","GPU":1,"GPU_model":"AWS Inferentia","GPU_memory":0,"vCPU":4,"memory":8.0,"pricing":{"us-east-1":{"linux":{"ondemand":"0.228"}}}},
{"instance_type":"m5.large","GPU":0,"vCPU":2,"memory":8.0,"pricing":{"us-east-1":{"linux":{"ondemand":"0.096"}}}}]`

const azureFile = `[
{"pretty_name_azure":"Standard NC24ads A100 v4","GPU":"1X A100","vcpu":24,"memory":220.0,"pricing":{"us-east":{"linux":{"ondemand":3.673}},"usgov-virginia":{"linux":{"ondemand":4.5}}}},
{"pretty_name_azure":"ND96asr A100 v4","GPU":"8x A100 (NVlink)","vcpu":96,"memory":900.0,"pricing":{"europe-west":{"linux":{"ondemand":27.197}}}},
{"pretty_name_azure":"Standard NV6ads A10 v5","GPU":"1/6X A10","vcpu":6,"memory":55.0,"pricing":{"us-east":{"linux":{"ondemand":0.454}}}},
{"pretty_name_azure":"ND96isr MI300X v5","GPU":"8x MI300X","vcpu":96,"memory":1900.0,"pricing":{"us-east":{"linux":{"ondemand":48}}}},
{"pretty_name_azure":"Standard D2","GPU":"0","vcpu":2,"memory":8.0,"pricing":{"us-east":{"linux":{"ondemand":0.1}}}},
{"pretty_name_azure":"Standard D4","GPU":0,"vcpu":4,"memory":16.0,"pricing":{"us-east":{"linux":{}}}}]`

// TestSnapshot: from the sources to the list. A change whose day is known is
// dated so, one of which it is not on the day the new price was seen; a price
// ends where a change is known and the new price is not; one that was seen twice
// is one row; what is doubtful is left out.
func TestSnapshot(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file("shapes.csv", "provider,instance_type,gpus,gpu_model,gpu_memory_gib,vcpu,memory_gib,source\naws,g6f.large,,,,2,8,x\n")
	file("changes.csv", "provider,instance_types,currency,day,source\naws,p4d.,USD,2025-06-01,x\n")
	file("sources.csv", "key,what,address,licence\nx,y,https://z,MIT\n")
	file("prices.csv", `provider,region,instance_type,model,currency,node_hour,gpu_hour,day,source
aws,eu-north-1,p4d.24xlarge,,USD,23.71569,,2026-08-26,x
aws,us-east-1,p4d.24xlarge,,USD,21.957642,,2026-08-26,x
aws,us-east-1,g5.xlarge,,USD,1.1,,2026-08-26,x
cloud,,,H100*,USD,,2.123456789999,2026-08-26,x
`)
	if err := run(paths{file("k.go", karpenterFile)}, file("i.json", ec2File), file("a.json", azureFile), "2025-05-28", dir, filepath.Join(dir)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "prices.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := listprices.Parse(bytes.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(got)), "\n")[1:] {
		lines = append(lines, line)
	}
	want := []string{
		"aws,us-east-1,g5.xlarge,,on-demand,USD,1.006,,,2026-08-26,2025-05-28,2026-07-20,karpenter-aws,1,NVIDIA A10G,24,4,16",
		"aws,us-east-1,g5.xlarge,,on-demand,USD,1.10,,2026-08-26,,2026-08-26,2026-08-26,x,1,NVIDIA A10G,24,4,16",
		"aws,us-east-1,g6f.large,,on-demand,USD,0.202,,,,2026-07-20,2026-07-20,karpenter-aws,,,,2,8",
		"aws,eu-north-1,p4d.24xlarge,,on-demand,USD,23.71569,,2025-06-01,,2026-08-26,2026-08-26,x,8,NVIDIA A100,40,96,1152",
		"aws,us-east-1,p4d.24xlarge,,on-demand,USD,32.7726,,,2025-06-01,2025-05-28,2025-05-28,ec2instances,8,NVIDIA A100,40,96,1152",
		"aws,us-east-1,p4d.24xlarge,,on-demand,USD,21.957642,,2025-06-01,,2026-07-20,2026-08-26,x,8,NVIDIA A100,40,96,1152",
		"aws,us-west-2,p4d.24xlarge,,on-demand,USD,32.7726,,,2025-06-01,2025-05-28,2025-05-28,ec2instances,8,NVIDIA A100,40,96,1152",
		"azure,eastus,Standard_NC24ads_A100_v4,,on-demand,USD,3.673,,,,2025-05-28,2025-05-28,ec2instances,1,NVIDIA A100,,24,220",
		"azure,westeurope,Standard_ND96asr_v4,,on-demand,USD,27.197,,,,2025-05-28,2025-05-28,ec2instances,8,NVIDIA A100,,96,900",
		"azure,eastus,Standard_NV6ads_A10_v5,,on-demand,USD,0.454,,,,2025-05-28,2025-05-28,ec2instances,,NVIDIA A10,,6,55",
		"cloud,,,H100*,on-demand,USD,,2.12345679,,,2026-08-26,2026-08-26,x,,,,,",
	}
	if diff := cmp.Diff(want, lines); diff != "" || len(rows) != len(want) {
		t.Errorf("%d rows (-want +got):\n%s", len(rows), diff)
	}
	if err := run(nil, "", "", "", "", ""); err == nil || !strings.Contains(err.Error(), "--karpenter-aws") {
		t.Errorf("without sources: %v", err)
	}
}
