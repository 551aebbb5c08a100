// SPDX-License-Identifier: Apache-2.0

package bill

import "testing"

const (
	azureMachine = "/subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/mc_ml_gpu_eastus/providers/microsoft.compute/virtualmachines/gpu-0"
	azureSet     = "/subscriptions/11111111-2222-3333-4444-555555555555/resourcegroups/mc_ml_gpu_eastus/providers/microsoft.compute/virtualmachinescalesets/aks-gpu-1234-vmss"
)

func TestProviderIDAndBillMeet(t *testing.T) {
	for _, c := range []struct {
		name, providerID string
		resources        []Named
		want             Instance
	}{
		{"aws", "aws:///us-east-1a/i-02445ff7024245edd", []Named{
			{ID: "i-02445ff7024245edd"},
			{ID: "arn:aws:ec2:us-east-1:123456789012:instance/i-02445ff7024245edd"},
			{ID: "arn:aws-cn:ec2:cn-north-1:123456789012:instance/i-02445ff7024245edd"},
			{ID: " I-02445FF7024245EDD "},
		}, "i-02445ff7024245edd"},
		{"gcp", "gce://ml-prod/us-central1-a/gke-gpu-pool-1-abcd", []Named{
			{ID: "//compute.googleapis.com/projects/ml-prod/zones/us-central1-a/instances/gke-gpu-pool-1-abcd"},
			{ID: "//compute.googleapis.com/projects/987654/zones/us-central1-a/instances/445566778899", Name: "gke-gpu-pool-1-abcd", Project: "ml-prod"},
			{ID: "//compute.googleapis.com/projects/987654/zones/us-central1-a/instances/445566778899", Name: "projects/987654/instances/gke-gpu-pool-1-abcd", Project: "ml-prod", Zone: "us-central1-a"},
			{ID: "projects/ml-prod/zones/us-central1-a/instances/gke-gpu-pool-1-abcd"},
			{Name: "projects/987654/instances/gke-gpu-pool-1-abcd", Project: "ml-prod", Zone: "us-central1-a"},
		}, "gce/ml-prod/us-central1-a/gke-gpu-pool-1-abcd"},
		{"azure", "azure:///subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/MC_ml_gpu_eastus/providers/Microsoft.Compute/virtualMachines/gpu-0", []Named{
			{ID: azureMachine}, {ID: "/Subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/mc_ml_GPU_eastus/providers/Microsoft.Compute/virtualMachines/GPU-0/"},
		}, azureMachine},
		{"alibaba", "cn-hangzhou.i-bp1abcdefgh12345678", []Named{{ID: "i-bp1abcdefgh12345678"}}, "i-bp1abcdefgh12345678"},
		{"tencent", "qcloud:///100003/ins-a1b2c3d4", []Named{{ID: "ins-a1b2c3d4"}}, "ins-a1b2c3d4"},
		{"another cloud", "coreweave://g1a2b3c", []Named{{ID: "g1a2b3c", Machine: true}}, "id:g1a2b3c"},
		{"oracle", "ocid1.instance.oc1.iad.aaaa", []Named{{ID: "ocid1.instance.oc1.iad.aaaa", Machine: true}}, "id:ocid1.instance.oc1.iad.aaaa"},
	} {
		if got := OfProviderID(c.providerID); got != c.want {
			t.Errorf("%s: provider id %q is %q, want %q", c.name, c.providerID, got, c.want)
		}
		for _, r := range c.resources {
			if got := OfResource(r); got != c.want {
				t.Errorf("%s: resource %+v is %q, want %q", c.name, r, got, c.want)
			}
		}
	}
}

func TestWhatIsNoMachine(t *testing.T) {
	for _, r := range []Named{
		{},
		{ID: "vol-0123456789abcdef0"},
		{ID: "eni-0123456789abcdef0"},
		{ID: "i-shop"}, // a bucket
		{ID: "assets.i-0123456789"},
		{ID: "arn:aws:s3:::bucket/i-02445ff7024245edd"},
		{ID: "arn:aws:eks:us-east-1:1:pod/c/ns/p", Machine: true},
		{ID: "/subscriptions/1/resourcegroups/g/providers/microsoft.storage/storageaccounts/i-02445ff7024245edd"},
		{ID: "bucket-of-logs"},
		{ID: "//storage.googleapis.com/projects/_/buckets/b", Name: "b", Project: "p", Zone: "z"},
		{ID: "//compute.googleapis.com/projects/9/zones/z/instances/44", Project: "p"}, // a number is no name
	} {
		if got := OfResource(r); got != "" {
			t.Errorf("%+v is the machine %q", r, got)
		}
	}
	for _, id := range []string{"", "aws://"} {
		if got := OfProviderID(id); got != "" {
			t.Errorf("provider id %q is %q", id, got)
		}
	}
}

func TestScaleSet(t *testing.T) {
	member := OfProviderID("azure://" + azureSet + "/virtualMachines/7")
	if member.Set() != azureSet || OfResource(Named{ID: azureSet}) != azureSet {
		t.Errorf("%q is of set %q, the bill's set is %q", member, member.Set(), OfResource(Named{ID: azureSet}))
	}
	if Instance(azureMachine).Set() != "" || Instance("i-02445ff7024245edd").Set() != "" {
		t.Error("a machine of its own has a set")
	}
}

func TestParts(t *testing.T) {
	for text, want := range map[string]Part{
		"A2 Instance Core running in Americas":                            CPU,
		"A2 Instance Ram running in Americas":                             Memory,
		"Spot Preemptible A3 Instance Ram running in Virginia":            Memory,
		"Nvidia Tesla A100 GPU running in Americas":                       GPU,
		"Nvidia H100 80GB GPU attached to Spot Preemptible VMs in Oregon": GPU,
		"Licensing Fee for RHEL 9 on VM with 1 GPU":                       Licence,
		"Network Internet Egress from Americas to Americas":               Network,
		"External IP Charge on a Standard VM":                             Network,
		"SSD backed Local Storage attached to Spot Preemptible VMs":       Storage,
		"E2 Instance running":                                             Whole,
		"Vertex AI: Something":                                            Other,
	} {
		if got := PartOfSKU(text); got != want {
			t.Errorf("SKU %q is %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]Part{
		"BoxUsage:p4d.24xlarge": Whole, "USW2-SpotUsage:g5.12xlarge": Whole, "EUC1-HeavyUsage:p5.48xlarge": Whole,
		"DataTransfer-Out-Bytes": Network, "USE1-USW2-AWS-Out-Bytes": Network, "EBS:VolumeUsage.gp3": Storage,
		"EBSOptimized:c6a.4xlarge": Other, "CPUCredits:t3": Other,
	} {
		if got := PartOfUsageType(text); got != want {
			t.Errorf("usage type %q is %s, want %s", text, got, want)
		}
	}
	for _, c := range []struct {
		unit, text string
		want       Part
	}{
		{"Hours", "$1.624 per On Demand Linux g5.4xlarge Instance Hour", Whole},
		{"Hours", "$0.00 for 4245 Mbps per c6a.4xlarge instance-hour (or partial hour)", Other},
		{"GB", "$0.085 per GB - next 40 TB / month data transfer out", Network},
		{"GB-Months", "$0.08 per GB-month of gp3", Storage},
		{"Requests", "requests", Other},
	} {
		if got := PartOfUnit(c.unit, c.text); got != c.want {
			t.Errorf("%q by the unit %q is %s, want %s", c.text, c.unit, got, c.want)
		}
	}
}
