// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"fmt"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"
)

const tenants = `apiVersion: v1
kind: Namespace
metadata: {name: ml}
---
apiVersion: v1
kind: Namespace
metadata: {name: research}
`

// tenantPods are a pod that was given a GPU, and one that takes of it without asking.
type tenantPods struct {
	gpus *gpus
	uuid string // the GPU that was given
}

const (
	honestBytes = 10 * gib
	leakedBytes = 2 * gib
)

// startTenants makes them and gives them memory.
func startTenants(t *testing.T) tenantPods {
	t.Helper()
	g := install(t, twoCards)
	devicePlugin(t, wholeGPUs)
	showState(t)
	apply(t, tenants)
	apply(t, inNamespace("ml", holderPod("honest", holderImage, "resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {nvidia.com/gpu: 1}}")))
	_, honest := runningIn(t, "ml", "honest", "main")
	apply(t, inNamespace("research", holderPod("taker", cudaImage, "env: []")))
	_, taker := runningIn(t, "research", "taker", "main")
	uuid := grantedID(t, "honest/main")
	g.hold(t, uuid, honest, honestBytes)
	g.hold(t, uuid, taker, leakedBytes)
	return tenantPods{g, uuid}
}

func inNamespace(namespace, manifest string) string {
	return strings.Replace(manifest, "namespace: default", "namespace: "+namespace, 1)
}

// chartInstall: helm install, and within a minute there is the bill of everybody, read by
// somebody who may; the agent has no more rights than docs/install.md says, and sees all.
func chartInstall(t *testing.T) {
	chartNode(t)
	w := startTenants(t)
	began := time.Now()
	helmInstall(t, deliveredChart)
	reader := plugged(t).as(t, tokenRequest(t, "reader", "", ""))
	rows := firstBill(t, reader)
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the first bill came %v after helm install, want it within a minute", took)
	} else {
		t.Logf("the first bill came %.1f s after helm install", took.Seconds())
	}
	isTrue(t, rows)
	agent, agentPID := onlyPod(t, "agent", "")
	_, serverPID := onlyPod(t, "server", "")
	t.Run("rights", func(t *testing.T) { rightsAreFew(t, agentPID, serverPID) })
	t.Run("sees", func(t *testing.T) { seesAll(t, agent, w) })
	t.Run("told", func(t *testing.T) { strangersAreNotTold(t) })
}

// byNamespace asks for what is charged to whom.
var byNamespace = []string{"report", "--open", "--by", "namespace", "-o", "csv"}

// firstBill waits until the reader's bill has a line of each tenant.
func firstBill(t *testing.T, reader kubectl) bill {
	t.Helper()
	var rows bill
	eventually(t, "there is a bill", func() error {
		text, err := reader.run(byNamespace...)
		if err != nil {
			return err
		}
		lines, err := readBill(text)
		if err != nil {
			return err
		}
		rows = lines.where("line", "row")
		if len(rows.where("namespace", "ml")) == 0 || len(rows.where("namespace", "research")) == 0 {
			return fmt.Errorf("no line of ml or research in %v", rows)
		}
		return nil
	})
	return rows
}

// isTrue checks each line of the first bill: the GPU is the one's who was given it, but
// for what the other took, and the second GPU is nobody's. An hour of a GPU is 3.60: a
// millisecond is a millionth.
func isTrue(t *testing.T, rows bill) {
	t.Helper()
	ml, research := rows.must(t, "namespace", "ml"), rows.must(t, "namespace", "research")
	honest, taken := number(t, ml, "gpu_ms"), number(t, research, "gpu_ms")
	free := new(big.Rat).Add(number(t, rows.must(t, "account", "idle"), "gpu_ms"), number(t, rows.must(t, "account", "overhead"), "gpu_ms"))
	whole := new(big.Rat).Add(honest, taken)
	if want := new(big.Rat).Mul(whole, big.NewRat(leakedBytes, cardBytes)); !near(taken, want, 2) || taken.Sign() == 0 {
		t.Errorf("research is charged for %s ms of the GPU of which it took a twentieth, want %s of %s", taken.FloatString(0), want.FloatString(0), whole.FloatString(0))
	}
	if leaked := number(t, research, "leaked_gpu_ms"); leaked.Cmp(taken) != 0 || number(t, ml, "leaked_gpu_ms").Sign() != 0 {
		t.Errorf("research leaked %s ms, want all of its %s, and ml nothing", leaked.FloatString(0), taken.FloatString(0))
	}
	if !near(free, whole, 2) {
		t.Errorf("%s ms are nobody's, want as much as the other GPU was there, %s", free.FloatString(0), whole.FloatString(0))
	}
	for _, row := range rows {
		ms := number(t, row, "gpu_ms")
		if paid := new(big.Rat).Mul(number(t, row, "cost_gpu"), big.NewRat(1_000_000, 1)); !near(paid, ms, 2) {
			t.Errorf("%s %s pays %s millionths for %s ms of GPUs, want as many", row["namespace"], row["account"], paid.FloatString(3), ms.FloatString(0))
		}
	}
	for _, column := range []string{"cost_cpu", "cost_memory"} {
		if number(t, ml, column).Sign() <= 0 {
			t.Errorf("ml has no %s, and its pod runs", column)
		}
	}
}

// capabilities as /proc/PID/status shows them: the numbers are the kernel's.
const (
	capDacReadSearch = 1 << 2
	capSysPtrace     = 1 << 19
)

// rightsAreFew looks at the running processes, not at what was asked for.
func rightsAreFew(t *testing.T, agentPID, serverPID int) {
	for _, x := range []struct {
		who  string
		pid  int
		user string
		caps uint64
	}{{"agent", agentPID, "0", capDacReadSearch | capSysPtrace}, {"server", serverPID, "65532", 0}} {
		status := processStatus(t, x.pid)
		for field, want := range map[string]string{
			"CapEff": fmt.Sprintf("%016x", x.caps), "CapPrm": fmt.Sprintf("%016x", x.caps), "CapBnd": fmt.Sprintf("%016x", x.caps),
			"NoNewPrivs": "1", "Seccomp": "2", "Uid": strings.Join([]string{x.user, x.user, x.user, x.user}, " "),
		} {
			if got := strings.Join(strings.Fields(status[field]), " "); got != want {
				t.Errorf("the %s has %s %s, want %s", x.who, field, got, want)
			}
		}
		if options := mountOptions(t, x.pid, "/"); !strings.HasPrefix(options, "ro") {
			t.Errorf("the %s's root is mounted %s, want it read-only", x.who, options)
		}
	}
	for _, at := range []string{"/host/sys/fs/cgroup", "/var/lib/kubelet/pod-resources"} {
		if options := mountOptions(t, agentPID, at); !strings.HasPrefix(options, "ro") {
			t.Errorf("the agent has %s mounted %s, want it read-only", at, options)
		}
	}
}

// processStatus reads /proc/PID/status: field by name.
func processStatus(t *testing.T, pid int) map[string]string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		out[name] = strings.TrimSpace(value)
	}
	return out
}

// mountOptions are the options of the mount at a path, as the process sees it.
func mountOptions(t *testing.T, pid int, path string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		t.Fatal(err)
	}
	options := ""
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 5 && f[4] == path {
			options = f[5]
		}
	}
	if options == "" {
		t.Errorf("process %d has no mount at %s", pid, path)
	}
	return options
}

// seesAll: with those rights the agent in its pod says what the agent on the host says,
// and of itself that it can open what it was not given.
func seesAll(t *testing.T, self pod, w tenantPods) {
	lookAt(t, self)
	(&agent{}).says(t, truth{
		holdings: []holding{
			{who: "honest/main", partition: w.uuid, bytes: honestBytes},
			{who: "taker/main", partition: w.uuid, bytes: leakedBytes, leak: true},
		},
		grants:   []grant{{"honest", w.uuid, "kubelet", cardBytes}},
		findings: []finding{{"unallocated_gpu_use", "taker"}, {"exposure", "taker"}, {"exposure", self.Metadata.Name}},
		modes:    map[string]string{w.uuid: "exclusive"},
	})
	p, err := seen()
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Sources {
		if !s.OK {
			t.Errorf("the agent cannot read %s: %s", name, s.Error)
		}
	}
	for _, f := range p.Findings {
		if own := f.Holder.Pod == self.Metadata.Name; own != (f.Severity == "info") {
			t.Errorf("%s of %s is %s; only the agent's own is for information", f.Kind, f.Holder.Pod, f.Severity)
		}
	}
}

// lookAt makes an agent in a pod the one that the scenario looks at.
func lookAt(t *testing.T, p pod) {
	t.Helper()
	before := agentURL
	agentURL = "http://" + p.Status.PodIP + ":9402"
	t.Cleanup(func() { agentURL = before })
}

// strangersAreNotTold: who has no role sees no bill.
func strangersAreNotTold(t *testing.T) {
	stranger := plugged(t).as(t, tokenRequest(t, "default", "", ""))
	if text, err := stranger.run(byNamespace...); err == nil {
		t.Errorf("a pod's own account reads the bill:\n%s", text)
	}
}
