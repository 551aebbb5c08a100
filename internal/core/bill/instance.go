// SPDX-License-Identifier: Apache-2.0

package bill

import (
	"regexp"
	"strings"
)

// Instance is a machine under one name, whichever way the bill or Kubernetes
// writes it:
//
//	i-0123456789abcdef0                        AWS, Alibaba Cloud
//	ins-abcd1234                               Tencent Cloud
//	gce/project/zone/name                      GCP
//	/subscriptions/…/virtualmachines/name      Azure, in lower case
//	id:…                                       anything else, compared to the letter
//
// "" is no machine.
type Instance string

var (
	// shortID is an id at the end of a provider id: AWS "aws:///us-east-1a/i-0…",
	// Alibaba "cn-hangzhou.i-bp1…", Tencent "qcloud:///100003/ins-…".
	shortID = regexp.MustCompile(`(?:^|[/.])((?:i|ins)-[0-9a-z]+)$`)
	// plainID is such an id as bills write it.
	plainID = regexp.MustCompile(`^(?:i|ins)-[0-9a-z]{8,}$`)
	// ec2ARN is the ARN of an instance in any of AWS's partitions.
	ec2ARN = regexp.MustCompile(`^arn:aws[a-z-]*:ec2:[^:]*:[^:]*:instance/(i-[0-9a-z]+)$`)
	// gcePath is a Compute Engine instance by its zone.
	gcePath = regexp.MustCompile(`(?:^|/)projects/([^/]+)/zones/([^/]+)/instances/([^/]+)$`)
	// azureVM is a machine or a scale set of Azure, in lower case.
	azureVM = regexp.MustCompile(`^/subscriptions/[^/]+/resourcegroups/[^/]+/providers/microsoft\.compute/(?:virtualmachines/[^/]+|virtualmachinescalesets/[^/]+(?:/virtualmachines/[^/]+)?)$`)
)

// OfProviderID is the machine of a Kubernetes node, by its spec.providerID.
func OfProviderID(id string) Instance {
	scheme, rest, ok := strings.Cut(id, "://")
	if !ok {
		scheme, rest = "", id
	}
	switch {
	case rest == "":
		return ""
	case scheme == "gce":
		if p := strings.Split(rest, "/"); len(p) == 3 {
			return ofGCE(p[0], p[1], p[2])
		}
	case scheme == "azure":
		if i := ofAzure(rest); i != "" {
			return i
		}
	default:
		if m := shortID.FindStringSubmatch(strings.ToLower(rest)); m != nil {
			return Instance(m[1])
		}
	}
	return Instance("id:" + strings.TrimLeft(rest, "/"))
}

// Named is a resource of a bill, with what the bill says beside its id.
type Named struct {
	// ID is the resource's id or global name, Name its name.
	ID, Name string
	// Project and Zone place a machine of GCP, whose ids are numbers that
	// Kubernetes does not know.
	Project, Zone string
	// Machine says that the line pays for a machine's time, so that an id of no
	// known form is one.
	Machine bool
}

// OfResource is the machine a bill's resource is; "" where it is none.
func OfResource(r Named) Instance {
	id := strings.ToLower(strings.TrimSpace(r.ID))
	if m := ec2ARN.FindStringSubmatch(id); m != nil {
		return Instance(m[1])
	}
	if plainID.MatchString(id) {
		return Instance(id)
	}
	if i := ofAzure(id); i != "" {
		return i
	}
	if i := ofGoogle(r); i != "" {
		return i
	}
	if r.Machine && r.ID != "" && !strings.HasPrefix(id, "arn:") {
		return Instance("id:" + strings.TrimLeft(strings.TrimSpace(r.ID), "/"))
	}
	return ""
}

// ofGoogle finds project, zone and name in the global name, the resource name
// and the columns beside them. A number is no name.
func ofGoogle(r Named) Instance {
	for _, path := range []string{r.ID, r.Name} {
		m := gcePath.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		project, zone, name := m[1], m[2], m[3]
		if isNumber(project) {
			project = r.Project
		}
		if isNumber(name) {
			name = lastOf(r.Name)
		}
		if project != "" && name != "" && !isNumber(name) {
			return ofGCE(project, zone, name)
		}
	}
	if strings.Contains(r.Name, "/instances/") && r.Project != "" && r.Zone != "" {
		return ofGCE(r.Project, r.Zone, lastOf(r.Name))
	}
	return ""
}

// Set is the scale set that an instance of Azure belongs to, "" for others:
// Azure bills the machines of a uniform scale set under the set's id.
func (i Instance) Set() Instance {
	set, _, ok := strings.Cut(string(i), "/virtualmachines/")
	if !ok || !strings.Contains(set, "/virtualmachinescalesets/") {
		return ""
	}
	return Instance(set)
}

func ofGCE(project, zone, name string) Instance {
	return Instance("gce/" + project + "/" + zone + "/" + name)
}

func ofAzure(id string) Instance {
	id = strings.TrimRight(strings.ToLower(id), "/")
	if !azureVM.MatchString(id) {
		return ""
	}
	return Instance(id)
}

func lastOf(path string) string { return path[strings.LastIndex(path, "/")+1:] }

func isNumber(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
