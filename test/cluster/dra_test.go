// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

// gpuClass is the class that NVIDIA's chart installs; with extended it also serves
// requests for the plain resource nvidia.com/gpu.
func gpuClass(extended bool) string {
	class := `apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com}
spec:
  selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'"}}]
`
	if extended {
		class += "  extendedResourceName: nvidia.com/gpu\n"
	}
	return class
}

const sharedClaim = `apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared, namespace: default}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
    config:
    - requests: ["gpu"]
      opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: TimeSlicing}}}
`

// draSharedClaim: two pods use one claim, so one GPU; no extended resource is involved.
func draSharedClaim(t *testing.T) {
	g := install(t, twoCards)
	draDriver(t)
	apply(t, gpuClass(false)+"\n---\n"+sharedClaim)
	var held []holding
	var given []grant
	var pays []share
	var uuid string
	for i, name := range []string{"claim1", "claim2"} {
		apply(t, holderPod(name, holderImage, "resources: {claims: [{name: gpu}]}")+
			"  resourceClaims: [{name: gpu, resourceClaimName: shared}]\n")
		_, pid := running(t, name, "main")
		uuid = cardOfClaim(t, name+"/main")
		bytes := uint64(i+5) * gib
		g.hold(t, uuid, pid, bytes)
		held = append(held, holding{who: name + "/main", partition: uuid, bytes: bytes})
		given = append(given, grant{name, uuid, "dra", together})
		pays = append(pays, share{name, uuid, int64(2*bytes) + (40-11)*gib, 2 * cardBytes}) // and half of what both leave
	}
	device := draName[uuid]
	granted(t, "claim1/main claim "+device, "claim2/main claim "+device)
	startAgent(t).says(t, truth{holdings: held, grants: given, modes: map[string]string{uuid: "shared-claim"}, pays: pays})
}

// draExtendedResource: a pod asks for plain nvidia.com/gpu and Kubernetes serves it
// through DRA: the kubelet lists a claim and no device.
func draExtendedResource(t *testing.T) {
	g := install(t, twoCards)
	draDriver(t)
	apply(t, gpuClass(true))
	apply(t, gpuPod("extended", "nvidia.com/gpu"))
	_, pid := running(t, "extended", "main")
	uuid := cardOfClaim(t, "extended/main")
	g.hold(t, uuid, pid, 9*gib)

	granted(t, "extended/main claim "+draName[uuid])
	startAgent(t).says(t, truth{
		holdings: []holding{{who: "extended/main", partition: uuid, bytes: 9 * gib}},
		grants:   []grant{{"extended", uuid, "dra", cardBytes}},
		modes:    map[string]string{uuid: "exclusive"},
		pays:     []share{{"extended", uuid, 1, 1}},
	})
}
