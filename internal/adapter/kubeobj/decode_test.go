// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/workload"
)

func decode(t *testing.T, kind, text string, strict bool) any {
	t.Helper()
	js, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := Decode(kind, js, strict)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

func TestDecodePod(t *testing.T) {
	got := decode(t, "Pod", `
apiVersion: v1
kind: Pod
metadata:
  name: train-0
  namespace: research
  uid: u-1
  labels: {team: vision}
  annotations: {kubernetes.io/config.hash: abc, kubectl.kubernetes.io/last-applied-configuration: "{}"}
  creationTimestamp: "2026-11-03T08:30:00Z"
  deletionTimestamp: "2026-11-03T10:00:00Z"
  ownerReferences:
  - {apiVersion: v1, kind: ConfigMap, name: other, uid: x}
  - {apiVersion: batch/v1, kind: Job, name: train, uid: j-1, controller: true}
spec:
  nodeName: node-a
  hostPID: true
  hostNetwork: true
  runtimeClassName: nvidia
  restartPolicy: Never
  schedulerName: default-scheduler
  nodeSelector: {pool: b, gpu: A100}
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [b, a]}, {key: rack, operator: Exists}]}, {matchFields: [{key: metadata.name, operator: In, values: [n]}]}]}}}
  tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
  - {key: team, value: ml}
  - {operator: Exists, effect: PreferNoSchedule}
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  volumes:
  - {name: dev, hostPath: {path: /dev/}}
  - {name: root, hostPath: {path: /}}
  - {name: gpu, hostPath: {path: /dev/nvidia0}}
  - {name: log, hostPath: {path: /var/log}}
  - {name: tmp, emptyDir: {}}
  resourceClaims:
  - {name: fixed, resourceClaimName: shared}
  - {name: made, resourceClaimTemplateName: tmpl}
  - {name: pending, resourceClaimTemplateName: tmpl}
  initContainers:
  - {name: fetch, image: fetch:1}
  - {name: proxy, restartPolicy: Always}
  containers:
  - name: main
    image: main:1
    securityContext: {privileged: true}
    env:
    - {name: NVIDIA_VISIBLE_DEVICES, value: all}
    - {name: CUDA_VISIBLE_DEVICES, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: PASSWORD, value: secret}
    resources:
      requests: {cpu: 1500m, memory: 1Gi}
      limits: {cpu: "2", memory: 2Gi, nvidia.com/gpu: 2, hugepages-2Mi: 4Mi, ephemeral-storage: 1Gi}
    volumeMounts:
    - {name: dev, mountPath: /hostdev}
    - {name: root, mountPath: /hostroot}
    - {name: root, mountPath: /n1, subPath: dev/nvidia1}
    - {name: gpu, mountPath: /dev/nvidia0}
    - {name: log, mountPath: /log}
    - {name: tmp, mountPath: /tmp}
  - name: limited
    resources: {limits: {cpu: 250m}}
  ephemeralContainers:
  - {name: debug, image: shell:1, targetContainerName: main}
status:
  phase: Running
  conditions: [{type: Ready, status: "False", lastTransitionTime: "2026-11-03T09:09:00Z"}, {type: PodScheduled, status: "True", lastTransitionTime: "2026-11-03T08:59:00Z"}]
  podIP: 10.1.2.3
  reason: Evicted
  resourceClaimStatuses: [{name: made, resourceClaimName: train-0-made-x7}, {name: pending}]
  extendedResourceClaimStatus: {resourceClaimName: train-0-ext, requestMappings: []}
  initContainerStatuses:
  - {name: fetch, containerID: "containerd://aa", image: "", imageID: "", ready: false, restartCount: 0, state: {terminated: {exitCode: 0, startedAt: "2026-11-03T09:00:00Z", finishedAt: "2026-11-03T09:01:00Z"}}}
  containerStatuses:
  - {name: main, containerID: "cri-o://bb", image: "", imageID: "", ready: true, restartCount: 1, state: {running: {startedAt: "2026-11-03T09:01:00Z"}}}
  - {name: limited, image: "", imageID: "", ready: false, restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, containerID: "containerd://ee", startedAt: "2026-11-03T09:02:00Z", finishedAt: "2026-11-03T09:03:00Z"}}}
  ephemeralContainerStatuses:
  - {name: debug, containerID: "containerd://cc", image: "", imageID: "", ready: false, restartCount: 0, state: {running: {startedAt: "2026-11-03T09:05:00Z"}}}
`, true)
	clock := func(h, m int) *time.Time { return ptr(time.Date(2026, 11, 3, h, m, 0, 0, time.UTC)) }
	want := workload.Pod{
		Namespace: "research", Name: "train-0", UID: "u-1", Node: "node-a", Phase: "Running",
		Labels:      map[string]string{"team": "vision"},
		Annotations: map[string]string{"kubernetes.io/config.hash": "abc"},
		Owner:       workload.Owner{Kind: "Job", Name: "train", UID: "j-1"},
		HostPID:     true, HostNetwork: true, IP: "10.1.2.3", RuntimeClass: "nvidia", DefaultScheduler: true,
		RestartPolicy: workload.RestartNever, Reason: "Evicted",
		ClaimNames:       []string{"shared", "train-0-made-x7"},
		ExtendedClaim:    "train-0-ext",
		DeletionDeadline: clock(10, 0),
		Place:            workload.Placement{Selector: "gpu=A100,pool=b", Affinity: "fields;rack Exists,zone In a|b", Tolerations: "nvidia.com/gpu:NoSchedule,team=ml"},
		CreatedAt:        clock(8, 30),
		ScheduledAt:      clock(8, 59),
		Containers: []workload.Container{
			{Name: "fetch", Kind: workload.ContainerInit, ID: "aa", Image: "fetch:1", StartedAt: clock(9, 0), FinishedAt: clock(9, 1)},
			{Name: "proxy", Kind: workload.ContainerSidecar},
			{
				Name: "main", Kind: workload.ContainerApp, ID: "bb", Image: "main:1", Privileged: true,
				Env:      map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"},
				Limits:   map[string]int64{"nvidia.com/gpu": 2},
				CPUMilli: 1500, MemoryBytes: 1 << 30,
				HostDevices: []string{"/dev", "/dev/nvidia1", "/dev/nvidia0"},
				Running:     true, StartedAt: clock(9, 1),
			},
			{Name: "limited", Kind: workload.ContainerApp, ID: "ee", CPUMilli: 250, StartedAt: clock(9, 2), FinishedAt: clock(9, 3)},
			{Name: "debug", Kind: workload.ContainerEphemeral, ID: "cc", Image: "shell:1", Running: true, StartedAt: clock(9, 5)},
		},
	}
	if d := cmp.Diff(any(want), got); d != "" {
		t.Error(d)
	}
	// A field that is never set is a rule that never applies.
	v := reflect.ValueOf(got)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "Gone" && v.Field(i).IsZero() {
			t.Errorf("%s of a pod is not read", name)
		}
	}
}

func TestDecodeNode(t *testing.T) {
	got := decode(t, "Node", `
metadata: {name: node-a, labels: {nvidia.com/gpu.replicas: "4"}, creationTimestamp: "2026-11-03T10:00:00Z"}
spec: {providerID: "aws:///i-1", unschedulable: true, taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}, {key: soft, effect: PreferNoSchedule}]}
status: {capacity: {cpu: "96", memory: 1Ki}, allocatable: {cpu: 95500m, memory: 1Ki, nvidia.com/gpu: 8}}
`, true)
	want := workload.Node{
		Name: "node-a", Taints: []string{"nvidia.com/gpu=present:NoSchedule"}, Labels: map[string]string{"nvidia.com/gpu.replicas": "4"}, ProviderID: "aws:///i-1",
		Capacity:      map[string]int64{"cpu": 96000, "memory": 1024},
		Allocatable:   map[string]int64{"cpu": 95500, "memory": 1024, "nvidia.com/gpu": 8},
		Unschedulable: true, CreatedMS: 1793700000000,
	}
	if d := cmp.Diff(any(want), got); d != "" {
		t.Error(d)
	}
	tainted := decode(t, "Node", `{metadata: {name: node-a}, spec: {taints: [{key: other, effect: NoSchedule}, {key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}}`, true)
	if d := cmp.Diff(any(workload.Node{Name: "node-a", Unschedulable: true, Taints: []string{"other=:NoSchedule"}}), tainted); d != "" {
		t.Error(d)
	}
}

// A claim means the same in each version's shape, with and without its
// apiVersion; admin access comes from the request's own flag in v1beta1.
func TestDecodeClaimShapes(t *testing.T) {
	body := func(request string) string {
		return `
kind: ResourceClaim
metadata: {name: shared, namespace: default, uid: c-1}
spec:
  devices:
    requests:
    - ` + request + `
    - {name: any, firstAvailable: [{name: big, deviceClassName: gpu.nvidia.com}]}
    config: [{opaque: {driver: gpu.nvidia.com, parameters: {kind: GpuConfig, sharing: {strategy: Exclusive}}}}]
status:
  reservedFor:
  - {resource: pods, name: a, uid: p-1}
  - {apiGroup: example.org, resource: things, name: b, uid: t-1}
  allocation:
    devices:
      results:
      - {request: gpu, driver: gpu.nvidia.com, pool: node-a, device: gpu-0, adminAccess: true}
      - {request: any/big, driver: gpu.nvidia.com, pool: node-a, device: gpu-1, shareID: s-1, consumedCapacity: {gpu.nvidia.com/memory: 10Gi}}
      config:
      - {source: FromClaim, opaque: {driver: gpu.nvidia.com, parameters: {kind: GpuConfig, sharing: {strategy: MPS}}}}
      - {source: FromClass, opaque: {driver: gpu.nvidia.com, parameters: {kind: GpuConfig, sharing: {strategy: TimeSlicing}}}}
      - {source: FromClaim, opaque: {driver: net.example.org, parameters: {sharing: {strategy: Other}}}}
`
	}
	flat := `{name: gpu, deviceClassName: gpu.nvidia.com, adminAccess: true}`
	nested := `{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, adminAccess: true}}`
	want := workload.Claim{
		Namespace: "default", Name: "shared", UID: "c-1", Allocated: true, Sharing: "MPS",
		Requests: []workload.ClaimRequest{{Name: "gpu", AdminAccess: true}, {Name: "any"}},
		Reserved: []workload.ClaimConsumer{{Pod: "a", UID: "p-1"}},
		Results: []workload.ClaimResult{
			{Request: "gpu", Driver: "gpu.nvidia.com", Pool: "node-a", Device: "gpu-0", AdminAccess: true},
			{Request: "any/big", Driver: "gpu.nvidia.com", Pool: "node-a", Device: "gpu-1", ShareID: "s-1", ConsumedMemory: ptr(uint64(10 << 30))},
		},
	}
	for name, text := range map[string]string{
		"v1":      "apiVersion: resource.k8s.io/v1" + body(nested),
		"v1beta2": "apiVersion: resource.k8s.io/v1beta2" + body(nested),
		"v1beta1": "apiVersion: resource.k8s.io/v1beta1" + body(flat),
		"none":    body(flat),
	} {
		if d := cmp.Diff(any(want), decode(t, "ResourceClaim", text, true)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDecodeClaimWithoutAllocation(t *testing.T) {
	got := decode(t, "ResourceClaim", `
metadata: {name: c, namespace: team}
spec: {devices: {config: [{opaque: {driver: gpu.nvidia.com, parameters: {sharing: {strategy: TimeSlicing}}}}]}}`, true)
	want := workload.Claim{Namespace: "team", Name: "c", Sharing: "TimeSlicing"}
	if d := cmp.Diff(any(want), got); d != "" {
		t.Error(d)
	}
}

func TestDecodeSliceShapes(t *testing.T) {
	device := func(open, end, prefix string) string {
		return `
spec:
  driver: gpu.nvidia.com
  nodeName: node-a
  pool: {name: node-a, generation: 3, resourceSliceCount: 1}
  devices:
  - name: gpu-0
    ` + open + `attributes: {` + prefix + `type: {string: gpu}, ` + prefix + `uuid: {string: GPU-1}, productName: {string: H100}, index: {int: 0}}, capacity: {` + prefix + `memory: {value: 80Gi}}, allowMultipleAllocations: true` + end + `
  - name: gpu-0-mig-1g10gb-19-0
    ` + open + `attributes: {type: {string: mig}, parentUUID: {string: GPU-1}, profile: {string: 1g.10gb}}` + end + `
metadata: {name: node-a-gpu}
`
	}
	want := workload.Slice{
		Name: "node-a-gpu", Driver: "gpu.nvidia.com", Pool: "node-a", Generation: 3, Node: "node-a",
		Devices: []workload.SliceDevice{
			{Name: "gpu-0", Type: "gpu", UUID: "GPU-1", Product: "H100", MemoryBytes: ptr(uint64(80 << 30)), Multiple: true},
			{Name: "gpu-0-mig-1g10gb-19-0", Type: "mig", ParentUUID: "GPU-1", Profile: "1g.10gb"},
		},
	}
	flat := strings.NewReplacer(", capacity", "\n    capacity", ", allow", "\n    allow").Replace(device("", "", ""))
	for name, text := range map[string]string{
		"flat":  flat,
		"basic": "apiVersion: resource.k8s.io/v1beta1" + device("basic: {", "}", "gpu.nvidia.com/"),
	} {
		if d := cmp.Diff(any(want), decode(t, "ResourceSlice", text, true)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ kind, text, want string }{
		"unknown kind":    {"Job", `{}`, `decode Job: kind "Job" is not one of Pod, Node, ResourceClaim, ResourceSlice`},
		"other kind":      {"Pod", `{"kind":"Node"}`, `kind: is "Node", want "Pod"`},
		"other version":   {"ResourceClaim", `{"apiVersion":"resource.k8s.io/v1alpha3"}`, `apiVersion: "resource.k8s.io/v1alpha3" is not one of`},
		"unknown field":   {"Pod", `{"spec":{"containers":[{"name":"a","imag":"x"}]}}`, `unknown field "spec.containers[0].imag"`},
		"case matters":    {"Pod", `{"Metadata":{}}`, `unknown field "Metadata"`},
		"twice":           {"Pod", `{"spec":{"nodeName":"a","nodeName":"b"}}`, `duplicate field "spec.nodeName"`},
		"twice in basic":  {"ResourceSlice", `{"spec":{"devices":[{"basic":{"allNodes":true,"allNodes":false}}]}}`, `duplicate field "spec.devices[0].basic.allNodes"`},
		"unknown in flat": {"ResourceClaim", `{"spec":{"devices":{"requests":[{"name":"a","deviceClassName":"c","adminaccess":true}]}}}`, `unknown field "spec.devices.requests[0].adminaccess"`},
		"two shapes":      {"ResourceClaim", `{"spec":{"devices":{"requests":[{"count":1,"exactly":{"count":2}}]}}}`, `spec.devices.requests[0]: count is given in the shapes of two API versions`},
		"wrong type":      {"Pod", `{"spec":{"hostPID":"yes"}}`, `hostPID`},
		"not JSON":        {"Pod", `{`, `unexpected end of JSON`},
		"not an object":   {"Node", `[]`, `cannot unmarshal array`},
	} {
		_, err := Decode(c.kind, []byte(c.text), true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestDecodeLenientIgnoresUnknownFields(t *testing.T) {
	got, err := Decode("Pod", []byte(`{"metadata":{"name":"a"},"spec":{"newField":{}}}`), false)
	if err != nil || got.(workload.Pod).Name != "a" {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, kind := range []string{"Pod", "Node", "ResourceClaim", "ResourceSlice"} {
		f.Add(kind, []byte(`{"metadata":{"name":"a"},"spec":{"devices":[{"basic":{"capacity":{"memory":{"value":"-1"}}}}]}}`), true)
		f.Add(kind, []byte(`{"spec":{"devices":{"requests":[{"exactly":null,"count":1}]}},"status":{"allocation":{}}}`), false)
	}
	f.Fuzz(func(t *testing.T, kind string, text []byte, strict bool) {
		v, err := Decode(kind, text, strict)
		if (v == nil) == (err == nil) {
			t.Errorf("Decode(%q, %q) = %v, %v", kind, text, v, err)
		}
	})
}
