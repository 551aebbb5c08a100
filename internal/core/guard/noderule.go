// SPDX-License-Identifier: Apache-2.0

package guard

// nodeRules are those of what a container brings without its manifest, and of how
// nodes are set up.
var nodeRules = []Rule{
	{
		ID: ByImage, Name: "image-names-gpus",
		Title:      "The image sets NVIDIA_VISIBLE_DEVICES to GPUs, and the container asks for none.",
		Severities: []Severity{Critical, High},
		When:       "critical in a privileged container; else high",
		Why:        "Most CUDA, PyTorch and Ollama images say all. NVIDIA's runtime obeys what the image says as it obeys the manifest; a container that asks for a GPU is safe, since the device plugin's value counts before the image's.",
		Fix:        "request a GPU; where none is needed, " + setVoid,
	},
	{
		ID: DefaultRuntime, OfNode: true, Name: "nvidia-is-default-runtime",
		Title:      "NVIDIA's runtime is the default runtime of the node.",
		Severities: []Severity{High, Low},
		When:       "high; low where every toolkit of the input obeys NVIDIA_VISIBLE_DEVICES in privileged containers alone",
		Why:        "Every container on the node then runs with it, and one whose image names GPUs gets them without asking.",
		Fix:        "give GPUs through CDI (GPU operator: cdi.enabled: true; device plugin: deviceListStrategy cdi-cri) and take NVIDIA's runtime out of the defaults (nvidia-ctk runtime configure without --set-as-default)",
	},
	{
		ID: Unprivileged, OfNode: true, Name: "variable-obeyed-in-every-container",
		Title:      "The container toolkit obeys NVIDIA_VISIBLE_DEVICES in containers that are not privileged.",
		Severities: []Severity{Medium, Low},
		When:       "medium; low where the GPU operator gives GPUs through CDI, so that only pods with NVIDIA's runtime class are concerned",
		Why:        "Whoever may create a pod, or writes an image, chooses its GPUs. It is the toolkit's default.",
		Fix:        "set accept-nvidia-visible-devices-envvar-when-unprivileged to false, together with a device plugin that does not hand out by the variable (deviceListStrategy cdi-cri, cdi-annotations or volume-mounts)",
	},
	{
		ID: MountsObeyed, OfNode: true, Name: "mounts-name-gpus",
		Title:      "The container toolkit takes GPUs from the names of mounts.",
		Severities: []Severity{Medium},
		When:       "medium: a pod must mount something there",
		Why:        "A mount under /var/run/nvidia-container-devices gives the GPU that it is named for, whoever made it. It is meant for a device plugin with deviceListStrategy volume-mounts.",
		Fix:        "move to CDI and set accept-nvidia-visible-devices-as-volume-mounts to false; until then refuse such mounts in pods (GT-G011) by admission",
	},
	{
		ID: ByStrategy, OfNode: true, Name: "granted-by-variable",
		Title:      "The device plugin hands out GPUs by NVIDIA_VISIBLE_DEVICES.",
		Severities: []Severity{Low},
		When:       "low: it opens nothing itself",
		Why:        "The toolkit must then obey the variable in containers that are not privileged, whoever set it. It is the plugin's default.",
		Fix:        "set deviceListStrategy to cdi-cri or cdi-annotations where the runtime knows CDI, else to volume-mounts",
	},
	{
		ID: ShareUnnamed, OfNode: true, Name: "share-named-as-gpu",
		Title:      "A share of a GPU is offered under the name of a whole one.",
		Severities: []Severity{Medium, Low},
		When:       "medium under time-slicing, which limits no memory; low under MPS, which does",
		Why:        "Who asks for one nvidia.com/gpu gets a turn at a GPU and takes it for a whole: its memory can be taken by the others at any time, and quotas count shares as GPUs.",
		Fix:        "set renameByDefault: true (the resource becomes nvidia.com/gpu.shared), or rename",
	},
	{
		ID: SharesAdded, OfNode: true, Name: "several-shares-requested",
		Title:      "A container may ask for several time-sliced shares.",
		Severities: []Severity{Low},
		When:       "low; under MPS the plugin refuses it always",
		Why:        "Two shares may be two turns at one GPU. They bring no more memory or time than one, and are paid for twice.",
		Fix:        "set failRequestsGreaterThanOne: true",
	},
	{
		ID: SeenOpen, Name: "seen-can-open",
		Title:      "An agent saw that a pod that runs can open GPUs it was not given.",
		Severities: []Severity{High, Low},
		When:       "high; low for the platform's own pods, which the agent's finding exposure calls info",
		Why:        "It is so, whatever the manifest says: by its image, by the node's settings, or by what admission made of it. The agent reads the container's devices cgroup and device files.",
		Fix:        "the other findings of the workload say by what, where it is in the manifest; else look at its image (--image-archive) and at the node's settings (-f config.toml)",
	},
	{
		ID: SeenUsing, Name: "seen-using",
		Title:      "An agent saw that a pod holds memory of a GPU it was not given.",
		Severities: []Severity{Critical},
		When:       "critical: it happens",
		Why:        "The memory is missing to those who were given the GPU. What the pod holds is billed to it.",
		Fix:        "request a GPU for the workload, or close the way by which it gets there",
	},
}
