// SPDX-License-Identifier: Apache-2.0

package imageconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// config is the configuration of an image, as far as it is looked at. Docker and
// OCI write the same.
type config struct {
	Config struct {
		Env []string `json:"Env"`
	} `json:"config"`
}

// saved is an entry of the manifest.json of docker save.
type saved struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
}

// descriptor and index are OCI's; a manifest is read as an index with a config.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

type index struct {
	Manifests []descriptor `json:"manifests"`
	Config    descriptor   `json:"config"`
}

// The annotations that hold the name of an image in a layout: containerd's is the
// whole, OCI's often the tag alone.
const (
	noteContainerd = "io.containerd.image.name"
	noteOCI        = "org.opencontainers.image.ref.name"
)

// maxNested bounds indexes in indexes.
const maxNested = 8

func (d documents) images() ([]guard.Image, error) {
	list, isDocker := d["manifest.json"]
	top, isOCI := d["index.json"]
	if !isDocker && !isOCI {
		return nil, errors.New("holds neither manifest.json nor index.json: it is no image archive; make one by docker save, ctr images export or skopeo copy … oci-archive:FILE")
	}
	byConfig := map[string]*guard.Image{} // by the digest or file of the configuration
	var out []*guard.Image
	add := func(key string, text []byte) (*guard.Image, error) {
		key = key[strings.LastIndexAny(key, ":/")+1:] // sha256:ab…, blobs/sha256/ab…, ab….json
		key = strings.TrimSuffix(key, ".json")
		if m := byConfig[key]; m != nil {
			return m, nil
		}
		m, err := imageOf(text)
		if err != nil {
			return nil, err
		}
		byConfig[key] = m
		out = append(out, m)
		return m, nil
	}
	if isOCI {
		if err := d.walk(top, nil, nil, add, 0); err != nil {
			return nil, err
		}
	}
	if isDocker {
		if err := d.saved(list, add); err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		return nil, errors.New("holds no image")
	}
	return values(out), nil
}

func values(all []*guard.Image) (out []guard.Image) {
	for _, m := range all {
		out = append(out, *m)
	}
	return out
}

type adder func(key string, text []byte) (*guard.Image, error)

func (d documents) saved(list []byte, add adder) error {
	var all []saved
	if err := json.Unmarshal(list, &all); err != nil {
		return fmt.Errorf("manifest.json: %w", err)
	}
	for _, s := range all {
		text, there := d[s.Config]
		if !there {
			return fmt.Errorf("manifest.json: Config: the archive has no file %q", s.Config)
		}
		m, err := add(s.Config, text)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Config, err)
		}
		for _, tag := range s.RepoTags {
			m.Names = appendNew(m.Names, fullName(tag))
		}
	}
	return nil
}

// walk goes down from an index. Names and digests are those of what is above.
func (d documents) walk(text []byte, names, digests []string, add adder, depth int) error {
	var i index
	if err := json.Unmarshal(text, &i); err != nil {
		return fmt.Errorf("an index: %w", err)
	}
	if i.Config.Digest != "" {
		return d.manifest(i.Config, names, digests, add)
	}
	if depth > maxNested {
		return errors.New("indexes lie in indexes without end")
	}
	for _, m := range i.Manifests {
		if m.Annotations["vnd.docker.reference.type"] != "" {
			continue // says how an image was built, and is none
		}
		next, there := d[blob(m.Digest)]
		if !there {
			continue // an archive may leave out other architectures
		}
		below := append(names[:len(names):len(names)], namesIn(m.Annotations)...)
		if err := d.walk(next, below, append(digests[:len(digests):len(digests)], m.Digest), add, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (d documents) manifest(c descriptor, names, digests []string, add adder) error {
	text, there := d[blob(c.Digest)]
	if !there {
		return fmt.Errorf("the archive has no configuration %s", c.Digest)
	}
	m, err := add(c.Digest, text)
	if err != nil {
		return fmt.Errorf("configuration %s: %w", c.Digest, err)
	}
	for _, n := range names {
		m.Names = appendNew(m.Names, n)
	}
	for _, g := range digests {
		m.Digests = appendNew(m.Digests, g)
	}
	return nil
}

func namesIn(notes map[string]string) []string {
	if name := notes[noteContainerd]; name != "" {
		return []string{fullName(name)}
	}
	if name := notes[noteOCI]; strings.ContainsAny(name, "/:") { // a tag alone names nothing
		return []string{fullName(name)}
	}
	return nil
}

func fullName(reference string) string {
	name, _ := guard.FullName(reference)
	return name
}

// blob is where a layout keeps what has a digest.
func blob(digest string) string {
	algorithm, sum, _ := strings.Cut(digest, ":")
	return "blobs/" + algorithm + "/" + sum
}

func appendNew(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

func imageOf(text []byte) (*guard.Image, error) {
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("is no configuration of an image: %w", err)
	}
	m := &guard.Image{Env: map[string]string{}}
	for _, e := range c.Config.Env {
		name, value, _ := strings.Cut(e, "=")
		m.Env[name] = value
	}
	return m, nil
}
