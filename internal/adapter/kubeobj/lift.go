// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"encoding/json"
	"fmt"

	kjson "sigs.k8s.io/json"
)

// exactFields are those of a claim's request that v1beta1 has on the request
// itself, and later versions under "exactly" (k8s.io/api/resource).
var exactFields = []string{
	"deviceClassName", "selectors", "allocationMode", "count", "adminAccess",
	"tolerations", "capacity", "derivedAttributes",
}

// lifter turns one element of a list from v1beta1's shape into v1's. It
// reports whether there was anything to turn.
type lifter func(element map[string]any, path string) (bool, error)

// liftClaim moves the request fields of v1beta1 to where v1 has them. A claim
// in a later shape comes back as it is.
func liftClaim(text []byte) ([]byte, error) {
	return lift(text, []string{"spec", "devices", "requests"}, liftRequest)
}

// liftSlice moves the members of v1beta1's "basic" up into the device, where
// v1 has them. A slice in a later shape comes back as it is.
func liftSlice(text []byte) ([]byte, error) {
	return lift(text, []string{"spec", "devices"}, liftDevice)
}

func liftRequest(request map[string]any, path string) (bool, error) {
	exactly, isObject := request["exactly"].(map[string]any)
	if !isObject {
		if request["exactly"] != nil {
			return false, nil // decoding will say what is wrong
		}
		exactly = map[string]any{}
	}
	moved := false
	for _, f := range exactFields {
		n, err := move(f, request, exactly, path)
		if err != nil {
			return false, err
		}
		moved = moved || n
	}
	if moved {
		request["exactly"] = exactly
	}
	return moved, nil
}

func liftDevice(device map[string]any, path string) (bool, error) {
	basic, ok := device["basic"].(map[string]any)
	if !ok {
		return false, nil
	}
	delete(device, "basic")
	for f := range basic {
		if _, err := move(f, basic, device, path); err != nil {
			return false, err
		}
	}
	return true, nil
}

func move(field string, from, to map[string]any, path string) (bool, error) {
	v, ok := from[field]
	if !ok {
		return false, nil
	}
	if _, twice := to[field]; twice {
		return false, fmt.Errorf("%s: %s is given in the shapes of two API versions; keep one", path, field)
	}
	to[field] = v
	delete(from, field)
	return true, nil
}

// lift applies change to every element of the list that the keys lead to. What
// is missing or of another type is left for decoding to judge.
func lift(text []byte, keys []string, change lifter) ([]byte, error) {
	var object map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &object); err != nil {
		return nil, err
	}
	var at any = object
	path := ""
	for _, k := range keys {
		m, ok := at.(map[string]any)
		if !ok {
			return text, nil
		}
		at = m[k]
		path += "." + k
	}
	list, _ := at.([]any)
	changed := false
	for i, e := range list {
		element, ok := e.(map[string]any)
		if !ok {
			continue
		}
		did, err := change(element, fmt.Sprintf("%s[%d]", path[1:], i))
		if err != nil {
			return nil, err
		}
		changed = changed || did
	}
	if !changed {
		return text, nil
	}
	return json.Marshal(object)
}
