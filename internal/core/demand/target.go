// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/workload"
)

// The annotations by which the owner of a pod has its engine looked at. They
// are of our own domain and name the act: prometheus.io/scrape is a wish to
// another program, and may stand on any pod for any reason.
const (
	// AnnotationScrape is the name of the engine, or "true": then its page tells
	// which it is, and the port must be given.
	AnnotationScrape = "gputally.io/scrape-engine"
	AnnotationPort   = "gputally.io/scrape-engine-port"
	AnnotationPath   = "gputally.io/scrape-engine-path"
	// What an engine does not tell of itself, and its log or arguments do: the
	// pool of one rank in bytes, and the longest request in tokens.
	AnnotationPoolBytes     = "gputally.io/engine-pool-bytes"
	AnnotationRequestTokens = "gputally.io/engine-request-tokens"
)

// The problems of a target that can be told without asking it.
const (
	BadAnnotation = "bad_annotation"
	HostNetwork   = "host_network"
)

// Target is one endpoint that may be asked. Problem is why it is not: then no
// address stands in it.
type Target struct {
	PodUID    string
	Container string
	// IP and Port are where it is asked, Path what for. Whether the IP may be
	// asked at all is for who asks.
	IP   string
	Port uint16
	Path string
	// Engine is the one that was named, empty where the page is to tell.
	Engine        string
	PoolBytes     *uint64
	RequestTokens *uint64
	Problem       string
	// Detail says in a sentence what is wrong and what to write.
	Detail string
}

// endpoint is where an engine serves by its own default. Text Generation
// Inference has several.
var endpoints = map[string]struct {
	port uint16
	path string
}{
	VLLM: {8000, "/metrics"}, SGLang: {30000, "/metrics"}, TensorRT: {8000, "/prometheus/metrics"},
	Triton: {8002, "/metrics"}, TGI: {0, "/metrics"}, Ollama: {11434, "/api/ps"},
}

// Selector is the operator's word for pods to look at, whatever is written on
// them.
type Selector struct {
	Engine    string
	Port      uint16 // 0: the engine's
	Path      string // "": the engine's
	Namespace string
	Labels    map[string]string
}

func (s *Selector) selects(p *workload.Pod) bool {
	if p.Namespace != s.Namespace {
		return false
	}
	for key, value := range s.Labels {
		if p.Labels[key] != value {
			return false
		}
	}
	return true
}

// TargetOf is the endpoint of a pod, false where neither the pod nor the operator
// asks for one. Annotations of the pod come before selectors.
func TargetOf(p *workload.Pod, selectors []Selector) (Target, bool) {
	t := Target{PodUID: p.UID}
	wish := p.Annotations[AnnotationScrape]
	if wish == "false" {
		return t, false
	}
	var s Selector
	if wish == "" {
		i := slices.IndexFunc(selectors, func(s Selector) bool { return s.selects(p) })
		if i < 0 {
			return t, false
		}
		s = selectors[i]
	} else if err := s.read(p.Annotations); err != nil {
		return t.wrong(BadAnnotation, err.Error()), true
	}
	if err := t.settle(s, p); err != nil {
		return t.wrong(BadAnnotation, err.Error()), true
	}
	return t.at(s, p), true
}

func (t Target) wrong(problem, detail string) Target {
	return Target{PodUID: t.PodUID, Engine: t.Engine, Problem: problem, Detail: detail}
}

// read takes the annotations of a pod that wants to be looked at.
func (s *Selector) read(annotations map[string]string) error {
	if wish := annotations[AnnotationScrape]; wish != "true" {
		if !slices.Contains(Engines(), wish) {
			return fmt.Errorf("%s is %.40q: write true, false or one of %s", AnnotationScrape, wish, strings.Join(Engines(), ", "))
		}
		s.Engine = wish
	}
	if text := annotations[AnnotationPort]; text != "" {
		port, err := strconv.ParseUint(text, 10, 16)
		if err != nil || port == 0 {
			return fmt.Errorf("%s is %.40q: write a port, 1 to 65535", AnnotationPort, text)
		}
		s.Port = uint16(port)
	}
	s.Path = annotations[AnnotationPath]
	return nil
}

// Check says what is wrong with a selector, nil where nothing is.
func (s *Selector) Check() error {
	if s.Port == 0 && endpoints[s.Engine].port == 0 {
		if s.Engine == "" {
			return fmt.Errorf("no port: name the engine (%s), or give the port", strings.Join(Engines(), ", "))
		}
		return fmt.Errorf("no port: %s has no one default, so give the port", s.Engine)
	}
	if s.Path == "" {
		return nil
	}
	return checkPath(s.Path)
}

// maxPath bounds a path.
const maxPath = 128

func checkPath(path string) error {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/-_.~", r)
	}
	if !strings.HasPrefix(path, "/") || len(path) > maxPath || strings.Contains(path, "..") || strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) {
		return fmt.Errorf("path is %.40q: write one that begins with /, of letters, digits and - _ . ~, without .., of at most %d bytes", path, maxPath)
	}
	return nil
}

// settle fills in what an engine's own defaults say, and what the pod declares.
func (t *Target) settle(s Selector, p *workload.Pod) error {
	if err := s.Check(); err != nil {
		return err
	}
	t.Engine, t.Path = s.Engine, s.Path
	if t.Path == "" {
		t.Path = "/metrics"
		if e, ok := endpoints[s.Engine]; ok {
			t.Path = e.path
		}
	}
	var err error
	if t.PoolBytes, err = declared(p, AnnotationPoolBytes); err != nil {
		return err
	}
	t.RequestTokens, err = declared(p, AnnotationRequestTokens)
	return err
}

func declared(p *workload.Pod, key string) (*uint64, error) {
	text := p.Annotations[key]
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseUint(text, 10, 53)
	if err != nil || n == 0 {
		return nil, fmt.Errorf("%s is %.40q: write a whole number above 0", key, text)
	}
	return &n, nil
}

// at gives the target its address: that of the pod, as the kubelet reported it.
// On the host's network it would be the node's, where anything may listen.
func (t Target) at(s Selector, p *workload.Pod) Target {
	if p.HostNetwork {
		return t.wrong(HostNetwork, "the pod is on the host's network, whose ports are not its own: its engine is not asked")
	}
	port := s.Port
	if port == 0 {
		port = endpoints[s.Engine].port
	}
	t.IP, t.Port = p.IP, port
	return t
}
