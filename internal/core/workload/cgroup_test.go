// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func podAt(uid, id, engine string) CgroupOwner {
	return CgroupOwner{Kind: CgroupPod, PodUID: uid, ContainerID: id, Engine: engine}
}

// cgroupForms are the spellings seen in the field: the letters are those of
// the project's collection, the numbers the ten of story C20.
var cgroupForms = []struct {
	name, text string
	want       CgroupOwner
}{
	{"A v2 systemd containerd Burstable",
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod73dc8baf_43a0_413e_aac2_5eb0868f6c1a.slice/cri-containerd-123cd1db937c3c2d0d7772ef9b0a1c4b0b3dcfcb6b889452a90b2fcb43eae43a.scope",
		podAt("73dc8baf-43a0-413e-aac2-5eb0868f6c1a", "123cd1db937c3c2d0d7772ef9b0a1c4b0b3dcfcb6b889452a90b2fcb43eae43a", "containerd")},
	{"B Guaranteed has no QoS level",
		"0::/kubepods.slice/kubepods-pod2d51509a_fcf0_41cc_b535_57cfeeaf73d1.slice/cri-containerd-0853fad78812e955b92d871d8d597d9bc598e34320c9edbfab0a73eacf150145.scope",
		podAt("2d51509a-fcf0-41cc-b535-57cfeeaf73d1", "0853fad78812e955b92d871d8d597d9bc598e34320c9edbfab0a73eacf150145", "containerd")},
	{"C CRI-O, nested leaf",
		"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod90b1ecb8_b850_451a_97c6_c073b5ddbb53.slice/crio-a1c299dc975032f1806601a8cb2fc7be0175969f6018956ade11dc989fbcd952.scope/container",
		podAt("90b1ecb8-b850-451a-97c6-c073b5ddbb53", "a1c299dc975032f1806601a8cb2fc7be0175969f6018956ade11dc989fbcd952", "crio")},
	{"D CRI-O's monitor: pod known, container none",
		"0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod90b1ecb8_b850_451a_97c6_c073b5ddbb53.slice/crio-conmon-a1c299dc975032f1806601a8cb2fc7be0175969f6018956ade11dc989fbcd952.scope",
		CgroupOwner{Kind: CgroupPod, PodUID: "90b1ecb8-b850-451a-97c6-c073b5ddbb53", Engine: "crio", Monitor: true}},
	{"E cgroupfs driver",
		"0::/kubepods/burstable/pod4a163a05-439d-484b-8e53-2968bc15824f/cde6dfaf5007ed65aad2d6aed72af91b0f3d95813492f773286e29ae145d20f4",
		podAt("4a163a05-439d-484b-8e53-2968bc15824f", "cde6dfaf5007ed65aad2d6aed72af91b0f3d95813492f773286e29ae145d20f4", "")},
	{"F cgroupfs Guaranteed",
		"0::/kubepods/pod2c48913c-b29f-11e7-9350-020968147796/9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961",
		podAt("2c48913c-b29f-11e7-9350-020968147796", "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961", "")},
	{"G static pod under kind's kubelet root",
		"0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-podb1e89a2fcc688644de3eb95aee8025ce.slice/cri-containerd-ee3fc60554cd9eefdd745a10dda84e041a7883c0381d067e76185d342de64759.scope",
		podAt("b1e89a2fcc688644de3eb95aee8025ce", "ee3fc60554cd9eefdd745a10dda84e041a7883c0381d067e76185d342de64759", "containerd")},
	{"H static pod, cgroupfs, CRI-O",
		"0::/kubepods/podb53dfa9e2dc9b890f7fadb2770857b03/crio-bb959773d06ad1a07d469bced637bbc49b6f8573c493fd0548d7f5810eb3e5a8",
		podAt("b53dfa9e2dc9b890f7fadb2770857b03", "bb959773d06ad1a07d469bced637bbc49b6f8573c493fd0548d7f5810eb3e5a8", "crio")},
	{"I kind seen from the outer host: its own id is ignored",
		"0::/docker/93529524695bb00d91c1f6dba692ea8d3550c3b94fb2463af7bc9ec82f992d26/kubepods/besteffort/poda2830d0d-b0f0-4ff0-81b5-0ee4e299cf80/09bc3d7ade839efec32b6bec4ec79d099027a668ddba043083ec21d3c3b8f1e6",
		podAt("a2830d0d-b0f0-4ff0-81b5-0ee4e299cf80", "09bc3d7ade839efec32b6bec4ec79d099027a668ddba043083ec21d3c3b8f1e6", "")},
	{"J kind's cgroupfs root",
		"0::/kubelet/kubepods/burstable/pod1858680e-b044-4fd5-9dd4-f137e30e2180/09bc3d7ade839efec32b6bec4ec79d099027a668ddba043083ec21d3c3b8f1e6",
		podAt("1858680e-b044-4fd5-9dd4-f137e30e2180", "09bc3d7ade839efec32b6bec4ec79d099027a668ddba043083ec21d3c3b8f1e6", "")},
	{"K colon form",
		"11:devices:/system.slice/containerd.service/kubepods-pod87a18a64_b74a_454a_b10b_a4a36059d0a3.slice:cri-containerd:05c48c82caff3be3d7f1e896981dd410e81487538936914f32b624d168de9db0",
		podAt("87a18a64-b74a-454a-b10b-a4a36059d0a3", "05c48c82caff3be3d7f1e896981dd410e81487538936914f32b624d168de9db0", "containerd")},
	{"L colon form on v2",
		"0::/system.slice/kubepods-burstable-pod22fd933a_ee61_46bd_93ae_ebace73c1160.slice:cri-containerd:3a31a360e5aea903274416e0c4cf8ca8c050fd523cc5d91a82ec5707d5ee9fa1",
		podAt("22fd933a-ee61-46bd-93ae-ebace73c1160", "3a31a360e5aea903274416e0c4cf8ca8c050fd523cc5d91a82ec5707d5ee9fa1", "containerd")},
	{"M docker, systemd",
		"4:memory:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice/docker-9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961.scope",
		podAt("2c48913c-b29f-11e7-9350-020968147796", "9bca8d63d5fa610783847915bcff0ecac1273e5b4bed3f6fa1b07350e0135961", "docker")},
	{"N v1 cgroupfs",
		"10:memory:/kubepods/besteffort/podd0544205-72df-11e8-b691-080027c5d95e/84ad0790d137467a41a21d7fb29b4973f68d4d00e67390454d587da8e5cc292c",
		podAt("d0544205-72df-11e8-b691-080027c5d95e", "84ad0790d137467a41a21d7fb29b4973f68d4d00e67390454d587da8e5cc292c", "")},
	{"O minikube CRI-O v1",
		"9:devices:/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod561fd272_d131_47ef_a01b_46a997a778f3.slice/crio-030ded69d4c98fcf69c988f75a5eb3a1b4357e1432bd5510c936a40d7e9a1198.scope",
		podAt("561fd272-d131-47ef-a01b-46a997a778f3", "030ded69d4c98fcf69c988f75a5eb3a1b4357e1432bd5510c936a40d7e9a1198", "crio")},
	{"P doubled kubepods",
		"9:devices:/kubepods/kubepods/besteffort/pod6bd2a4d3-a55a-4450-b6fd-2a7ecc72c904/a55d9ac3b312d8a2627824b6d6dd8af66fbec439bf4e0ec22d6d9945ad337a38",
		podAt("6bd2a4d3-a55a-4450-b6fd-2a7ecc72c904", "a55d9ac3b312d8a2627824b6d6dd8af66fbec439bf4e0ec22d6d9945ad337a38", "")},
	{"Q reader in its own cgroup namespace",
		"0::/../../../burstable/pod095e82d2-713c-467a-a18a-cbb50a075296/6d1234da0f5aa7fa0ccae4c7d2d109929eb9a81694e6357bcd4547ab3985911b",
		podAt("095e82d2-713c-467a-a18a-cbb50a075296", "6d1234da0f5aa7fa0ccae4c7d2d109929eb9a81694e6357bcd4547ab3985911b", "")},
	{"R container id only",
		"0::/../crio-45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814.scope",
		CgroupOwner{Kind: CgroupContainer, ContainerID: "45490e76e0878aaa4d9808f7d2eefba37f093c3efbba9838b6d8ab804d9bd814", Engine: "crio"}},
	{"S plain docker",
		"0::/system.slice/docker-b362fa680d463b43611d956fcaab31640a49de2d11bf2604c2af55570865e46b.scope",
		CgroupOwner{Kind: CgroupContainer, ContainerID: "b362fa680d463b43611d956fcaab31640a49de2d11bf2604c2af55570865e46b", Engine: "docker"}},
	{"T podman quadlet",
		"0::/user.slice/user-1000.slice/user@1000.service/app.slice/redis.service/libpod-payload-e8c29da1a2f6c4bb032304f7dfbc5a767e026092c4a2fcbc830e58565f972f54",
		CgroupOwner{Kind: CgroupContainer, ContainerID: "e8c29da1a2f6c4bb032304f7dfbc5a767e026092c4a2fcbc830e58565f972f54", Engine: "libpod"}},
	{"U host service", "0::/system.slice/nvidia-persistenced.service",
		CgroupOwner{Kind: CgroupUnit, Unit: "nvidia-persistenced.service"}},
	{"U root", "0::/", CgroupOwner{Kind: CgroupUnknown}},
	{"V docker in a pod: the pod's container",
		"0::/kubepods.slice/kubepods-pod2d51509a_fcf0_41cc_b535_57cfeeaf73d1.slice/cri-containerd-0853fad78812e955b92d871d8d597d9bc598e34320c9edbfab0a73eacf150145.scope/docker/b362fa680d463b43611d956fcaab31640a49de2d11bf2604c2af55570865e46b",
		podAt("2d51509a-fcf0-41cc-b535-57cfeeaf73d1", "0853fad78812e955b92d871d8d597d9bc598e34320c9edbfab0a73eacf150145", "containerd")},
	{"C20.1", "12:hugetlb:/kubepods.slice/kubepods-pod00000000_0000_4000_a000_000000000001.slice/cri-containerd-c000000000000000000000000000000000000000000000000000000000000001.scope",
		podAt("00000000-0000-4000-a000-000000000001", "c000000000000000000000000000000000000000000000000000000000000001", "containerd")},
	{"C20.2 another controller at the root", "11:rdma:/\n12:cpuset:/kubepods/pod00000000-0000-4000-a000-000000000002/c000000000000000000000000000000000000000000000000000000000000002\n",
		podAt("00000000-0000-4000-a000-000000000002", "c000000000000000000000000000000000000000000000000000000000000002", "")},
	{"C20.3", "11:blkio:/kubepods/burstable/pod00000000-0000-4000-a000-000000000003/c000000000000000000000000000000000000000000000000000000000000003",
		podAt("00000000-0000-4000-a000-000000000003", "c000000000000000000000000000000000000000000000000000000000000003", "")},
	{"C20.4", "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod00000000_0000_4000_a000_000000000004.slice/cri-containerd-c000000000000000000000000000000000000000000000000000000000000004.scope",
		podAt("00000000-0000-4000-a000-000000000004", "c000000000000000000000000000000000000000000000000000000000000004", "containerd")},
	{"C20.5", "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod00000000_0000_4000_a000_000000000005.slice/cri-containerd-c000000000000000000000000000000000000000000000000000000000000005.scope",
		podAt("00000000-0000-4000-a000-000000000005", "c000000000000000000000000000000000000000000000000000000000000005", "containerd")},
	{"C20.6", "1:name=systemd:/system.slice/containerd.service/kubepods-burstable-pod00000000_0000_4000_a000_000000000006.slice:cri-containerd:c000000000000000000000000000000000000000000000000000000000000006",
		podAt("00000000-0000-4000-a000-000000000006", "c000000000000000000000000000000000000000000000000000000000000006", "containerd")},
	{"C20.7", "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod00000000_0000_4000_a000_000000000007.slice/crio-c000000000000000000000000000000000000000000000000000000000000007.scope",
		podAt("00000000-0000-4000-a000-000000000007", "c000000000000000000000000000000000000000000000000000000000000007", "crio")},
	{"C20.8", "11:cpuset:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod00000000_0000_4000_a000_000000000008.slice/docker-c000000000000000000000000000000000000000000000000000000000000008.scope",
		podAt("00000000-0000-4000-a000-000000000008", "c000000000000000000000000000000000000000000000000000000000000008", "docker")},
	{"C20.9", "0::/system.slice/containerd.service", CgroupOwner{Kind: CgroupUnit, Unit: "containerd.service"}},
	{"C20.10", "0::/", CgroupOwner{Kind: CgroupUnknown}},
}

func TestParseCgroupForms(t *testing.T) {
	for _, c := range cgroupForms {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ParseCgroup(c.text)); diff != "" {
				t.Errorf("ParseCgroup(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

// A process whose cgroup was removed, nested cgroups below its own and unknown
// controllers before it are still the same owner's.
func TestParseCgroupKeepsOwner(t *testing.T) {
	inner := strings.Repeat("f", 64)
	for _, c := range cgroupForms {
		if c.want.Kind == CgroupUnknown || strings.HasSuffix(c.text, "\n") {
			continue
		}
		for name, text := range map[string]string{
			"deleted":      c.text + " (deleted)\n",
			"nested":       c.text + "/init.scope/docker/" + inner,
			"other lines":  "13:misc:/\n7:pids:/\n" + c.text + "\n1:name=systemd:/\n",
			"windows ends": c.text + "\r\n",
		} {
			// What is below a host unit may well be a container of its own.
			if name == "nested" && c.want.ContainerID == "" {
				continue
			}
			if diff := cmp.Diff(c.want, ParseCgroup(text)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", c.name, name, diff)
			}
		}
	}
}

func TestParseCgroupOthers(t *testing.T) {
	id := "b362fa680d463b43611d956fcaab31640a49de2d11bf2604c2af55570865e46b"
	for _, c := range []struct {
		name, text string
		want       CgroupOwner
	}{
		{"empty", "", CgroupOwner{Kind: CgroupUnknown}},
		{"not a cgroup line", "kubepods", CgroupOwner{Kind: CgroupUnknown}},
		{"outside the reader's namespace", "0::/../../..", CgroupOwner{Kind: CgroupUnknown}},
		{"the kubelet's tree without a pod", "0::/kubepods.slice/kubepods-burstable.slice", CgroupOwner{Kind: CgroupUnknown}},
		{"a pod's own cgroup", "0::/kubepods/pod4a163a05-439d-484b-8e53-2968bc15824f",
			CgroupOwner{Kind: CgroupPod, PodUID: "4a163a05-439d-484b-8e53-2968bc15824f"}},
		{"a UID too long is none", "0::/kubepods/pod4a163a05-439d-484b-8e53-2968bc15824f0/" + id,
			CgroupOwner{Kind: CgroupContainer, ContainerID: id}},
		{"an id too long is none", "0::/system.slice/docker-" + id + "0.scope",
			CgroupOwner{Kind: CgroupUnit, Unit: "docker-" + id + "0.scope"}},
		{"a word that ends in pod", "0::/system.slice/tripod.service", CgroupOwner{Kind: CgroupUnit, Unit: "tripod.service"}},
		{"session", "0::/user.slice/user-1000.slice/session-2.scope",
			CgroupOwner{Kind: CgroupUser, Unit: "user-1000.slice/session-2.scope"}},
		{"a user's service", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/train.service",
			CgroupOwner{Kind: CgroupUser, Unit: "user-1000.slice/train.service"}},
		{"a user's slice", "0::/user.slice/user-0.slice", CgroupOwner{Kind: CgroupUser, Unit: "user-0.slice"}},
		{"below a unit", "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
			CgroupOwner{Kind: CgroupUnit, Unit: "slurmstepd.scope"}},
		{"Slurm on v1", "9:memory:/slurm/uid_1000/job_7\n0::/\n", CgroupOwner{Kind: CgroupUnit, Unit: "slurm/uid_1000/job_7"}},
		{"v1 docker", "9:memory:/docker/" + id, CgroupOwner{Kind: CgroupContainer, ContainerID: id, Engine: "docker"}},
		{"podman's monitor", "0::/machine.slice/libpod-conmon-" + id + ".scope",
			CgroupOwner{Kind: CgroupContainer, ContainerID: id, Engine: "libpod", Monitor: true}},
		{"a pod line after a unit line", "2:cpu:/system.slice/x.service\n1:memory:/kubepods/pod4a163a05-439d-484b-8e53-2968bc15824f/" + id,
			podAt("4a163a05-439d-484b-8e53-2968bc15824f", id, "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, ParseCgroup(c.text)); diff != "" {
				t.Errorf("ParseCgroup(%q) (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func FuzzParseCgroup(f *testing.F) {
	for _, c := range cgroupForms {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := ParseCgroup(text)
		if (got.Kind == CgroupPod) != (got.PodUID != "") {
			t.Errorf("kind %q with pod UID %q", got.Kind, got.PodUID)
		}
		if got.PodUID != "" && len(got.PodUID) != 32 && len(got.PodUID) != 36 || strings.Contains(got.PodUID, "_") {
			t.Errorf("pod UID %q is in neither form", got.PodUID)
		}
		if got.ContainerID != "" && !strings.Contains(text, got.ContainerID) {
			t.Errorf("container id %q is not in the text", got.ContainerID)
		}
		if host := got.Kind == CgroupUnit || got.Kind == CgroupUser; host != (got.Unit != "") {
			t.Errorf("kind %q with unit %q", got.Kind, got.Unit)
		}
		// Lines at the root say nothing, wherever they stand.
		if again := ParseCgroup("3:rdma:/\n" + text); again != got {
			t.Errorf("a line at the root changed %+v to %+v", got, again)
		}
	})
}
