// SPDX-License-Identifier: Apache-2.0

package guard

// Input is everything that is looked at together. What one manifest leaves open
// (a ConfigMap's value, a RuntimeClass's handler) another may tell.
type Input struct {
	Workloads      []Workload
	ConfigMaps     []ConfigMap
	RuntimeClasses []RuntimeClass
	// Images are those whose own environment is known.
	Images []Image
	// Seen is what agents saw on their nodes.
	Seen []Seen
	// Nodes are files and objects that set up GPU nodes.
	Nodes []NodeConfig
}

// Object names an object of Kubernetes. Namespace is never empty for an object
// that has one: the reader fills in the one that it was told to assume.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// String is NAMESPACE/KIND/NAME, as exemptions name objects; KIND/NAME of what is
// in no namespace.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + "/" + o.Name
	}
	return o.Namespace + "/" + o.Kind + "/" + o.Name
}

// Place is where a value stands in the input.
type Place struct {
	File     string `json:"file"`
	Document int    `json:"document"` // counts from 1
	Line     int    `json:"line"`     // counts from 1; 0: not known
	Field    string `json:"field,omitempty"`
}

// Text is a plain value as it is written, its field and its line. Given is
// false where the field is not there; Field and Line then say nothing.
type Text struct {
	Value string
	Field string
	Line  int
	Given bool
}

// True: the field is there and says true.
func (t Text) True() bool { return t.Given && t.Value == "true" }

// Workload is a pod, or an object that makes pods of a template.
type Workload struct {
	Object
	File     string
	Document int
	Line     int
	// Of is the workload that made this pod, as far up as known; nil for one that
	// stands for itself. What is found in the pod is told of that workload, once
	// for all its pods.
	Of *Object
	// Notes are the annotations of the object, PodNotes those its pods get. For
	// a bare pod both are the same annotations, given in PodNotes only.
	Notes, PodNotes []Note
	Pod             Pod
}

// told is the object that findings name.
func (w *Workload) told() Object {
	if w.Of != nil {
		return *w.Of
	}
	return w.Object
}

// Note is an annotation.
type Note struct {
	Key   string
	Value Text
}

// Pod is what the rules look at of a pod's spec.
type Pod struct {
	RuntimeClass, Scheduler Text
	HostPID, HostIPC        Text
	Volumes                 []Volume
	// Containers are all of them: init containers, sidecars, containers and
	// ephemeral ones, in the order of the spec.
	Containers []Container
}

// Volume is a volume of a pod. HostPath is given for one of the node's file system;
// ConfigMap is the name of the one that it shows.
type Volume struct {
	Name      string
	HostPath  Text
	ConfigMap string
}

// Role is what a container is in its pod.
type Role string

// The roles. A sidecar is an init container that keeps running (restartPolicy: Always).
const (
	Init      Role = "init container"
	Sidecar   Role = "sidecar"
	Main      Role = "container"
	Ephemeral Role = "ephemeral container"
)

// Container is what the rules look at of a container.
type Container struct {
	Name       string
	Image      Text
	Role       Role
	Field      string
	Line       int
	Privileged Text
	Env        []Variable
	EnvFrom    []Source
	Amounts    []Amount
	Claims     []Text // resources.claims[].name
	Mounts     []Mount
}

// Variable is an entry of env. From is nil where the value is written out.
type Variable struct {
	Name  string
	Value Text
	From  *Reference
}

// The kinds of what a variable's value is taken from.
const (
	FromConfigMap = "ConfigMap"
	FromSecret    = "Secret"
	FromPod       = "field of the pod"
)

// Reference is where a variable's value comes from: a key of a ConfigMap or
// Secret, or something of the pod itself (Name is empty then).
type Reference struct {
	Kind, Name, Key string
	At              Text
}

// Source is an entry of envFrom: every key of a ConfigMap or Secret becomes a
// variable, with the prefix before it.
type Source struct {
	Kind, Prefix string
	Name         Text
}

// Amount is a resource among a container's limits or requests.
type Amount struct {
	Resource string
	Value    Text
}

// Mount is where a container sees a volume.
type Mount struct {
	Volume   string
	Path     Text
	SubPath  string
	ReadOnly bool
}

// ConfigMap is one of the input; its values can be looked up.
type ConfigMap struct {
	Namespace, Name string
	Data            map[string]string
}

// RuntimeClass gives a runtime of the node a name that pods can ask for.
type RuntimeClass struct {
	Name, Handler string
}
