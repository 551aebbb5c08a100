// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// pod makes a workload with one container; the options say what it is like.
func pod(options ...func(*Workload)) Workload {
	w := Workload{Object: Object{Kind: "Pod", Namespace: "lab", Name: "p"}, File: "f", Document: 1}
	w.Pod.Containers = []Container{{Name: "main", Role: Main, Field: "spec.containers[0]"}}
	for _, o := range options {
		o(&w)
	}
	return w
}

func text(value string) Text { return Text{Value: value, Given: true, Line: 7, Field: "field"} }

func first(change func(*Container)) func(*Workload) {
	return func(w *Workload) { change(&w.Pod.Containers[0]) }
}

func env(name, value string) func(*Workload) {
	return first(func(c *Container) { c.Env = append(c.Env, Variable{Name: name, Value: text(value)}) })
}

func from(name, kind, object, key string) func(*Workload) {
	return first(func(c *Container) {
		c.Env = append(c.Env, Variable{Name: name, From: &Reference{Kind: kind, Name: object, Key: key, At: text(object)}})
	})
}

func source(kind, name, prefix string) func(*Workload) {
	return first(func(c *Container) {
		c.EnvFrom = append(c.EnvFrom, Source{Kind: kind, Name: text(name), Prefix: prefix})
	})
}

func wants(resource, amount string) func(*Workload) {
	return first(func(c *Container) { c.Amounts = append(c.Amounts, Amount{resource, text(amount)}) })
}

func claim() func(*Workload) {
	return first(func(c *Container) { c.Claims = append(c.Claims, text("gpu")) })
}

func privileged() func(*Workload) { return first(func(c *Container) { c.Privileged = text("true") }) }

func runtime(name string) func(*Workload) {
	return func(w *Workload) { w.Pod.RuntimeClass = text(name) }
}
func kind(name string) func(*Workload) { return func(w *Workload) { w.Kind = name } }
func scheduler(name string) func(*Workload) {
	return func(w *Workload) { w.Pod.Scheduler = text(name) }
}
func note(key, value string) func(*Workload) {
	return func(w *Workload) { w.PodNotes = append(w.PodNotes, Note{key, text(value)}) }
}
func hostIPC() func(*Workload) { return func(w *Workload) { w.Pod.HostIPC = text("true") } }
func hostPID() func(*Workload) { return func(w *Workload) { w.Pod.HostPID = text("true") } }

// mount mounts a volume; one without a path on the node is an emptyDir.
func mount(host, inside string) func(*Workload) {
	return func(w *Workload) {
		name := fmt.Sprint("v", len(w.Pod.Volumes))
		v := Volume{Name: name}
		if host != "" {
			v.HostPath = text(host)
		}
		w.Pod.Volumes = append(w.Pod.Volumes, v)
		c := &w.Pod.Containers[0]
		c.Mounts = append(c.Mounts, Mount{Volume: name, Path: text(inside)})
	}
}

// found says a report's findings as "id severity", sorted.
func found(r Report) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, string(f.Rule)+" "+f.Severity.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestRules goes through real reports (C..: the numbers of test/scenario; #: of
// k8s-device-plugin) and the rules one by one.
func TestRules(t *testing.T) {
	const vis = visibleDevices
	none := ""
	for name, c := range map[string]struct {
		w    Workload
		want string
	}{
		"nothing":                                {pod(), none},
		"C12 variable without a request":         {pod(env(vis, "all")), "GT-G001 high"},
		"#61 nvidia.com/gpu: 0 asks for none":    {pod(wants("nvidia.com/gpu", "0"), env(vis, "all")), "GT-G001 high"},
		"C12 a list of devices":                  {pod(env(vis, "0,1")), "GT-G001 high"},
		"void":                                   {pod(env(vis, "void")), none},
		"none":                                   {pod(env(vis, "none")), none},
		"one void makes all void":                {pod(env(vis, "all,void")), none},
		"empty":                                  {pod(env(vis, "")), none},
		"the last entry counts":                  {pod(env(vis, "void"), env(vis, "all")), "GT-G001 high"},
		"asks":                                   {pod(wants("nvidia.com/gpu", "1")), none},
		"asks for MIG":                           {pod(wants("nvidia.com/mig-1g.10gb", "1"), wants("nvidia.com/mig-1g.20gb", "2")), none},
		"C08 MIG with the variable by hand":      {pod(wants("nvidia.com/mig-1g.10gb", "1"), wants("nvidia.com/mig-1g.20gb", "2"), env(vis, "MIG-1")), "GT-G002 medium"},
		"C10 two replicas":                       {pod(wants("nvidia.com/gpu.shared", "2")), none},
		"asks and takes all":                     {pod(wants("nvidia.com/gpu", "1"), env(vis, "all")), "GT-G002 high"},
		"asks and hides":                         {pod(wants("nvidia.com/gpu", "1"), env(vis, "void")), "GT-G002 low"},
		"a network card is no GPU":               {pod(wants("nvidia.com/hostdev", "1"), env(vis, "all")), "GT-G001 high"},
		"another vendor's GPU":                   {pod(wants("amd.com/gpu", "1"), env(vis, "all")), "GT-G001 high"},
		"C24 a claim":                            {pod(claim()), none},
		"C24 a claim and all":                    {pod(claim(), env(vis, "all")), "GT-G002 high"},
		"C27 HAMi":                               {pod(wants("nvidia.com/gpumem", "1000"), wants("nvidia.com/gpu", "1")), none},
		"C27 HAMi's limit off":                   {pod(wants("nvidia.com/gpumem", "1000"), env(disableControl, "true")), "GT-G014 high"},
		"no limit to switch off":                 {pod(env(disableControl, "true")), none},
		"C28 KAI":                                {pod(note("gpu-fraction", "0.5"), scheduler("kai-scheduler"), from(vis, FromConfigMap, "shared-gpu", vis)), "GT-G003 low"},
		"C28 KAI's annotation without KAI":       {pod(note("gpu-fraction", "0.5"), env(vis, "all")), "GT-G001 high"},
		"C28 and with the default scheduler":     {pod(note("gpu-fraction", "0.5"), scheduler("default-scheduler"), env(vis, "all")), "GT-G001 high"},
		"C13 privileged beside its request":      {pod(wants("nvidia.com/gpu", "2"), privileged()), "GT-G005 high"},
		"privileged":                             {pod(privileged()), "GT-G005 medium"},
		"privileged on every node":               {pod(kind("DaemonSet"), privileged()), "GT-G005 low"},
		"privileged with the variable":           {pod(privileged(), env(vis, "all")), "GT-G001 critical, GT-G005 high"},
		"privileged exporter":                    {pod(kind("DaemonSet"), privileged(), runtime("nvidia")), "GT-G004 high, GT-G005 high"},
		"#1605 runtime class":                    {pod(runtime("nvidia")), "GT-G004 high"},
		"runtime class, legacy name":             {pod(runtime("nvidia-legacy")), "GT-G004 high"},
		"runtime class with a request":           {pod(runtime("nvidia"), wants("nvidia.com/gpu", "1")), none},
		"runtime class, variable void":           {pod(runtime("nvidia"), env(vis, "void")), none},
		"another runtime class":                  {pod(runtime("gvisor")), none},
		"valueFrom a Secret":                     {pod(from(vis, FromSecret, "s", "k")), "GT-G003 medium"},
		"valueFrom the pod":                      {pod(from(vis, FromPod, "", "")), "GT-G003 medium"},
		"valueFrom a ConfigMap of the input":     {pod(from(vis, FromConfigMap, "here", vis)), "GT-G001 high"},
		"valueFrom a ConfigMap without the key":  {pod(from(vis, FromConfigMap, "empty", vis)), none},
		"valueFrom one of two ConfigMaps":        {pod(from(vis, FromConfigMap, "twice", vis)), "GT-G003 medium"},
		"envFrom what is not there":              {pod(source(FromConfigMap, "settings", "")), "GT-G003 low"},
		"envFrom a Secret":                       {pod(source(FromSecret, "settings", "")), "GT-G003 low"},
		"envFrom a ConfigMap of the input":       {pod(source(FromConfigMap, "here", "")), "GT-G001 high"},
		"envFrom without the key":                {pod(source(FromConfigMap, "empty", "")), none},
		"envFrom with a prefix":                  {pod(source(FromConfigMap, "rest", "NVIDIA_")), "GT-G001 high"},
		"envFrom with another prefix":            {pod(source(FromConfigMap, "away", "APP_")), none},
		"env counts before envFrom":              {pod(source(FromConfigMap, "away", ""), env(vis, "void")), none},
		"the last source counts":                 {pod(source(FromConfigMap, "away", ""), source(FromConfigMap, "here", "")), "GT-G001 high"},
		"a reference":                            {pod(env("G", "all"), env(vis, "$(G)")), "GT-G001 high"},
		"a reference to void":                    {pod(env("G", "void"), env(vis, "$(G)")), none},
		"a reference to a secret":                {pod(from("G", FromSecret, "s", "k"), env(vis, "$(G)")), "GT-G003 medium"},
		"a reference to nothing stays":           {pod(env(vis, "$(G)")), "GT-G001 high"},
		"C13 device file":                        {pod(mount("/dev/nvidia0", "/dev/nvidia0")), "GT-G006 medium"},
		"device file, a detour":                  {pod(mount("/dev/../dev//nvidiactl/", "/x")), "GT-G006 medium"},
		"device file, privileged":                {pod(privileged(), mount("/dev/nvidia0", "/x")), "GT-G005 high, GT-G006 high"},
		"all of /dev":                            {pod(mount("/dev", "/dev")), "GT-G006 low"},
		"all of /dev, privileged":                {pod(privileged(), mount("/dev", "/dev")), "GT-G005 medium, GT-G006 medium"},
		"a node exporter's /":                    {pod(kind("DaemonSet"), mount("/", "/host")), "GT-G006 low"},
		"a storage driver on every node":         {pod(kind("DaemonSet"), privileged(), mount("/dev", "/dev")), "GT-G005 low, GT-G006 low"},
		"driver root":                            {pod(mount("/run/nvidia/driver", "/d")), "GT-G007 low"},
		"driver root by its old path":            {pod(mount("/var/run/nvidia/driver", "/d")), "GT-G007 low"},
		"driver root, privileged":                {pod(privileged(), mount("/run/nvidia/driver", "/d")), "GT-G005 high, GT-G007 high"},
		"a name that only begins so":             {pod(mount("/run/nvidia-other", "/d")), none},
		"CDI specifications":                     {pod(mount("/var/run/cdi", "/d")), "GT-G007 medium"},
		"an ordinary directory":                  {pod(mount("/data", "/data")), none},
		"C11 MPS daemon of the node":             {pod(mount("/run/nvidia/mps", "/mps"), env(mpsPipe, "/mps/pipe")), "GT-G008 high"},
		"C11 MPS daemon at its default":          {pod(mount("/tmp/nvidia-mps", "/tmp/nvidia-mps")), "GT-G008 high"},
		"MPS daemon at a path of its own":        {pod(mount("/srv/mps", "/mps"), env(mpsPipe, "/mps/pipe")), "GT-G008 high"},
		"MPS directory without a mount":          {pod(env(mpsPipe, "/mps/pipe")), "GT-G008 medium"},
		"MPS directory beside a request":         {pod(wants("nvidia.com/gpu.shared", "1"), env(mpsPipe, "/mps/pipe")), "GT-G008 medium"},
		"MPS daemon of its own":                  {pod(wants("nvidia.com/gpu", "1"), mount("", "/mps"), env(mpsPipe, "/mps/pipe")), none},
		"C11 MPS with the IPC of the node":       {pod(mount("/tmp/nvidia-mps", "/tmp/nvidia-mps"), hostIPC()), "GT-G008 high, GT-G010 high"},
		"MPS with the processes of the node":     {pod(wants("nvidia.com/gpu", "1"), env("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50"), hostPID()), "GT-G010 medium"},
		"the node's IPC without MPS":             {pod(hostIPC(), hostPID()), none},
		"CDI annotation":                         {pod(note("cdi.k8s.io/x", "nvidia.com/gpu=all")), "GT-G009 medium"},
		"CDI annotation with NVIDIA's runtime":   {pod(note("cdi.k8s.io/x", "nvidia.com/gpu=all"), runtime("nvidia"), env(vis, "void")), "GT-G009 high"},
		"CDI annotation of a network card":       {pod(note("cdi.k8s.io/x", "intel.com/nic=0")), none},
		"a mount that names GPUs":                {pod(mount("", "/var/run/nvidia-container-devices/all")), "GT-G011 high"},
		"and privileged":                         {pod(privileged(), mount("", "/run/nvidia-container-devices/0")), "GT-G005 medium, GT-G011 critical"},
		"and asked for":                          {pod(wants("nvidia.com/gpu", "1"), mount("", "/run/nvidia-container-devices/0")), "GT-G011 medium"},
		"MIG configuration":                      {pod(wants("nvidia.com/gpu", "1"), env("NVIDIA_MIG_CONFIG_DEVICES", "all")), "GT-G012 high"},
		"MIG monitoring":                         {pod(env("NVIDIA_MIG_MONITOR_DEVICES", "all")), "GT-G012 medium"},
		"a switch that is off":                   {pod(env("NVIDIA_NVSWITCH", "disabled")), none},
		"only capabilities":                      {pod(env("NVIDIA_DRIVER_CAPABILITIES", "all")), none},
		"CUDA_VERSION makes an old image":        {pod(env(cudaVersion, "12.4")), "GT-G013 medium"},
		"CUDA_VERSION of a new image":            {pod(env(cudaVersion, "12.4"), env(requireCUDA, "cuda>=12")), none},
		"CUDA_VERSION and void":                  {pod(env(cudaVersion, "12.4"), env(vis, "void")), none},
		"an exemption without a reason":          {pod(note(ExemptNote, "platform"), env(vis, "all")), "GT-G001 high, GT-G015 low"},
		"LD_PRELOAD and the like are not looked": {pod(env("LD_PRELOAD", "/x.so")), none},
	} {
		t.Run(name, func(t *testing.T) {
			r := Scan(Input{Workloads: []Workload{c.w}, ConfigMaps: configMaps}, Policy{})
			for _, f := range r.Findings {
				if !slices.Contains(RuleOf(f.Rule).Severities, f.Severity) {
					t.Errorf("%s is %s, which the rule does not list", f.Rule, f.Severity)
				}
			}
			got := found(r)
			if got != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}

var configMaps = []ConfigMap{
	{Namespace: "lab", Name: "here", Data: map[string]string{visibleDevices: "all"}},
	{Namespace: "lab", Name: "rest", Data: map[string]string{"VISIBLE_DEVICES": "all"}},
	{Namespace: "lab", Name: "empty"},
	{Namespace: "lab", Name: "twice", Data: map[string]string{visibleDevices: "void"}},
	{Namespace: "lab", Name: "twice", Data: map[string]string{visibleDevices: "all"}},
	{Namespace: "other", Name: "settings", Data: map[string]string{visibleDevices: "all"}},
}

// TestEveryContainer: init containers, sidecars and ephemeral containers are
// looked at one by one, whatever the others ask for (C22).
func TestEveryContainer(t *testing.T) {
	w := pod(wants("nvidia.com/gpu", "2"))
	for _, role := range []Role{Init, Sidecar, Ephemeral} {
		w.Pod.Containers = append(w.Pod.Containers, Container{
			Name: string(role), Role: role, Field: string(role), Env: []Variable{{Name: visibleDevices, Value: text("all")}},
		})
	}
	var got []string
	for _, f := range Scan(Input{Workloads: []Workload{w}}, Policy{}).Findings {
		got = append(got, f.Container)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"ephemeral container", "init container", "sidecar"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestKAIGivesToOneContainer: the share goes to the container that is named, and
// only to that.
func TestKAIGivesToOneContainer(t *testing.T) {
	w := pod(note("gpu-memory", "2000"), scheduler("kai-scheduler"), note(kaiContainer, "second"), runtime("nvidia"))
	w.Pod.Containers = append(w.Pod.Containers, Container{Name: "second", Role: Main, Field: "spec.containers[1]"})
	r := Scan(Input{Workloads: []Workload{w}}, Policy{})
	if len(r.Findings) != 1 || r.Findings[0].Container != "main" {
		t.Errorf("found %+v, want one of container main", r.Findings)
	}
}

// TestRuntimeClassObject: what the input says of a runtime class counts before
// its name.
func TestRuntimeClassObject(t *testing.T) {
	classes := []RuntimeClass{{Name: "gpu", Handler: "nvidia"}, {Name: "nvidia-fake", Handler: "runc"}}
	for name, want := range map[string]string{"gpu": "GT-G004 high", "nvidia-fake": "", "nvidia": "GT-G004 high", "other": ""} {
		if got := found(Scan(Input{Workloads: []Workload{pod(runtime(name))}, RuntimeClasses: classes}, Policy{})); got != want {
			t.Errorf("runtime class %s: found %q, want %q", name, got, want)
		}
	}
}

// TestRenamedResource: a resource that the user names stands for a GPU.
func TestRenamedResource(t *testing.T) {
	w := pod(wants("acme.example/card", "1"), runtime("nvidia"))
	if got := found(Scan(Input{Workloads: []Workload{w}}, Policy{})); got != "GT-G004 high" {
		t.Errorf("not named: found %q", got)
	}
	if got := found(Scan(Input{Workloads: []Workload{w}}, Policy{Resources: []string{"acme.example/card"}})); got != "" {
		t.Errorf("named: found %q", got)
	}
}

// TestReferencesStayCheap: variables that refer to each other twice over do not
// grow without measure.
func TestReferencesStayCheap(t *testing.T) {
	for _, seed := range []string{"", "all"} {
		w := pod(env("A0", seed))
		for i := 1; i < 200; i++ {
			env(fmt.Sprint("A", i), strings.Repeat(fmt.Sprintf("$(A%d)", i-1), 2))(&w)
		}
		env(visibleDevices, "$(A199)")(&w)
		want := map[string]string{"": "", "all": "GT-G003 medium"}[seed]
		if got := found(Scan(Input{Workloads: []Workload{w}}, Policy{})); got != want {
			t.Errorf("seed %q: found %q, want %q", seed, got, want)
		}
	}
}
