// SPDX-License-Identifier: Apache-2.0

package guard

import "slices"

// ID names a rule. Ids are stable: one is never given to another rule.
type ID string

// The rules.
const (
	ByVariable      ID = "GT-G001"
	VariableOnGrant ID = "GT-G002"
	VariableHidden  ID = "GT-G003"
	Runtime         ID = "GT-G004"
	Privileged      ID = "GT-G005"
	DeviceMount     ID = "GT-G006"
	DriverMount     ID = "GT-G007"
	MPSDaemon       ID = "GT-G008"
	CDIAnnotation   ID = "GT-G009"
	HostNamespace   ID = "GT-G010"
	DeviceList      ID = "GT-G011"
	DriverFeature   ID = "GT-G012"
	LegacyImage     ID = "GT-G013"
	ShareControl    ID = "GT-G014"
	BadExemption    ID = "GT-G015"
	ByImage         ID = "GT-G016"
	DefaultRuntime  ID = "GT-G017"
	Unprivileged    ID = "GT-G018"
	MountsObeyed    ID = "GT-G019"
	ByStrategy      ID = "GT-G020"
	ShareUnnamed    ID = "GT-G021"
	SharesAdded     ID = "GT-G022"
	SeenOpen        ID = "GT-G023"
	SeenUsing       ID = "GT-G024"
)

// Rule is what a finding of a rule always says.
type Rule struct {
	ID         ID
	Name       string     // in kebab case, for tools
	Title      string     // what it looks for
	Severities []Severity // those that it can have, most severe first
	When       string     // which of them when
	Why        string     // why it matters
	Fix        string
	// OfNode: it looks at how nodes are set up, not at containers.
	OfNode bool
}

// Rules are all rules by id.
func Rules() []Rule { return allRules }

// RuleOf is the rule with an id.
func RuleOf(id ID) Rule {
	for _, r := range allRules {
		if r.ID == id {
			return r
		}
	}
	return Rule{ID: id}
}

// allRules are those of containers, then those of nodes; by id.
var allRules = slices.Concat(rules, nodeRules)

const setVoid = "set NVIDIA_VISIBLE_DEVICES to void in the container's env"

var rules = []Rule{
	{
		ID: ByVariable, Name: "visible-devices-without-request",
		Title:      "NVIDIA_VISIBLE_DEVICES names GPUs in a container that asks for none.",
		Severities: []Severity{Critical, High},
		When:       "critical in a privileged container, whose variable the toolkit always obeys; else high",
		Why:        "NVIDIA's container toolkit obeys the variable in every container unless the node forbids it. The container uses GPUs that Kubernetes gives to others at the same time.",
		Fix:        "request a GPU (nvidia.com/gpu, or a ResourceClaim) and drop the variable; where no GPU is needed, " + setVoid,
	},
	{
		ID: VariableOnGrant, Name: "visible-devices-overrides-request",
		Title:      "NVIDIA_VISIBLE_DEVICES is set by hand in a container that asks for a GPU.",
		Severities: []Severity{High, Medium, Low},
		When:       "high where it names all; medium for a list of devices; low where it hides the GPUs that were asked for",
		Why:        "The device plugin sets this variable to what was granted. A value in the spec stands instead of it: the container then sees other GPUs than its own, or pays for some it cannot see.",
		Fix:        "remove the variable from the spec; ask for more GPUs where more are needed",
	},
	{
		ID: VariableHidden, Name: "visible-devices-not-in-manifest",
		Title:      "NVIDIA_VISIBLE_DEVICES comes, or may come, from something that is not in the input.",
		Severities: []Severity{Medium, Low},
		When:       "medium where the variable is set to an unknown value; low where a whole ConfigMap or Secret may hold it (envFrom), or where the container asks for a GPU",
		Why:        "What a ConfigMap, a Secret or the pod's own fields say is decided elsewhere, and may name GPUs that were not asked for. It is unknown here, not harmless.",
		Fix:        "scan the ConfigMap together with the workload; or " + setVoid + ", which counts before envFrom",
	},
	{
		ID: Runtime, Name: "nvidia-runtime-without-request",
		Title:      "The pod runs with NVIDIA's runtime and a container asks for no GPU.",
		Severities: []Severity{High},
		When:       "high, unless the container sets NVIDIA_VISIBLE_DEVICES to void or none",
		Why:        "With this runtime the image's own NVIDIA_VISIBLE_DEVICES counts, and most CUDA, PyTorch and Ollama images say all.",
		Fix:        "drop runtimeClassName, or request a GPU; for a container beside one that does, " + setVoid,
	},
	{
		ID: Privileged, Name: "privileged",
		Title:      "A privileged container can open every GPU of its node.",
		Severities: []Severity{High, Medium, Low},
		When:       "high where the pod has to do with GPUs (a request, a variable, a mount, NVIDIA's runtime); low in a DaemonSet that has not, since every node has some; else medium",
		Why:        "A privileged container has all devices of the host, whatever it was given and whatever NVIDIA_VISIBLE_DEVICES says.",
		Fix:        "drop privileged; give the capabilities or devices that are needed one by one; keep such pods off GPU nodes",
	},
	{
		ID: DeviceMount, Name: "gpu-device-from-host",
		Title:      "A hostPath volume brings in GPU device files, or a directory that holds them.",
		Severities: []Severity{High, Medium, Low},
		When:       "high for a GPU's device file in a privileged container; medium in another, and for all of /dev in a privileged one; low for all of /dev or / in another, and in a DaemonSet that has nothing else to do with GPUs",
		Why:        "The device file is the GPU. A read-only mount does not help: it protects the directory, not the device. A container that is not privileged also needs to be let through by its device cgroup.",
		Fix:        "remove the volume and request a GPU: the device plugin brings in the files of that GPU alone",
	},
	{
		ID: DriverMount, Name: "driver-from-host",
		Title:      "A hostPath volume brings in NVIDIA's driver, its sockets, or the CDI specifications of the node.",
		Severities: []Severity{High, Medium, Low},
		When:       "high in a privileged container; medium for CDI specifications that can be written; else low",
		Why:        "The driver's libraries are the other half of reaching a GPU, and complete with a device that is open. Who writes CDI specifications decides which devices others get.",
		Fix:        "remove the volume; the toolkit brings the driver into containers that were granted a GPU",
	},
	{
		ID: MPSDaemon, Name: "mps-daemon-of-others",
		Title:      "The container can talk to an MPS daemon that it was not given.",
		Severities: []Severity{High, Medium},
		When:       "high where the daemon's directory is mounted from the node and no GPU is asked for; else medium. A daemon of the pod's own, in a volume that is not from the node, is no finding",
		Why:        "A client of an MPS daemon runs on the daemon's GPU, together with its other clients. One that crashes can take them with it.",
		Fix:        "remove CUDA_MPS_PIPE_DIRECTORY and the mount, and request a replica: the device plugin sets both",
	},
	{
		ID: CDIAnnotation, Name: "cdi-annotation",
		Title:      "An annotation of the pod names GPUs for CDI.",
		Severities: []Severity{High, Medium},
		When:       "high with NVIDIA's runtime class; else medium",
		Why:        "Where the node's runtime passes annotations on, CDI devices in them are added before anything else counts, and nobody granted them.",
		Fix:        "remove the annotation and request a GPU; the device plugin or the DRA driver names CDI devices itself",
	},
	{
		ID: HostNamespace, Name: "host-namespace-with-mps",
		Title:      "A container that uses MPS shares the IPC or process namespace of its node.",
		Severities: []Severity{High, Medium},
		When:       "high for hostIPC where no GPU is asked for; else medium",
		Why:        "MPS clients and daemon meet through shared memory and process ids. With those of the node the container meets daemons and clients of other pods.",
		Fix:        "drop hostIPC and hostPID; the device plugin's MPS works without them",
	},
	{
		ID: DeviceList, Name: "device-list-mount",
		Title:      "A mount under /var/run/nvidia-container-devices names GPUs.",
		Severities: []Severity{Critical, High, Medium},
		When:       "critical in a privileged container and high in another where no GPU is asked for; else medium",
		Why:        "Where the toolkit takes devices from mounts (accept-nvidia-visible-devices-as-volume-mounts), the names of the mounts are the GPUs. It is meant for the device plugin alone.",
		Fix:        "remove the mount and request a GPU",
	},
	{
		ID: DriverFeature, Name: "driver-feature",
		Title:      "A variable asks the toolkit for MIG configuration, IMEX channels or other parts of the driver.",
		Severities: []Severity{High, Medium, Low},
		When:       "high for NVIDIA_MIG_CONFIG_DEVICES, which can cut the GPUs of others; without a request medium for NVIDIA_MIG_MONITOR_DEVICES and NVIDIA_IMEX_CHANNELS, low for other devices",
		Why:        "These variables bring devices into the container that belong to the node, not to a granted GPU.",
		Fix:        "remove the variable; leave MIG to the MIG manager and IMEX channels to the DRA driver",
	},
	{
		ID: LegacyImage, Name: "cuda-version-without-request",
		Title:      "CUDA_VERSION is set in a container that asks for no GPU, and NVIDIA_VISIBLE_DEVICES is not.",
		Severities: []Severity{High, Medium},
		When:       "medium, since an image that sets NVIDIA_REQUIRE_CUDA or NVIDIA_VISIBLE_DEVICES decides otherwise; high where the image is known and does not",
		Why:        "The toolkit takes a container with CUDA_VERSION and without NVIDIA_REQUIRE_CUDA for an old CUDA image, and gives it all GPUs.",
		Fix:        "give the variable another name; or " + setVoid,
	},
	{
		ID: ShareControl, Name: "share-limit-switched-off",
		Title:      "CUDA_DISABLE_CONTROL switches off the limits of a share of a GPU.",
		Severities: []Severity{High},
		When:       "high where the container asks for a GPU; without one there is no limit to switch off",
		Why:        "HAMi enforces the memory and cores of a share inside the container. Without that the container can take the whole GPU from those it shares it with.",
		Fix:        "remove the variable; ask for a larger share where it is too small",
	},
	{
		ID: BadExemption, Name: "exemption-without-reason",
		Title:      "The annotation " + ExemptNote + " lacks an owner or a reason.",
		Severities: []Severity{Low},
		When:       "low; it exempts nothing",
		Why:        "An exemption that nobody owns is never taken back.",
		Fix:        `write "owner: reason", such as "platform: reads the metrics of every GPU"`,
	},
}
