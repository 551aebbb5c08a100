// SPDX-License-Identifier: Apache-2.0

package guard

import "fmt"

// checkVariable looks at NVIDIA_VISIBLE_DEVICES: GT-G001, GT-G002, GT-G003, GT-G016.
func checkVariable(v *view) []Finding {
	d := v.devices
	switch {
	case d.certainty == unknown:
		severity := Medium
		if v.asks {
			severity = Low
		}
		return v.finding(VariableHidden, severity, d.at, fmt.Sprintf("%s is set from %s", visibleDevices, d.from))
	case d.certainty == possible && !v.asks:
		return v.finding(VariableHidden, Low, d.at, fmt.Sprintf("%s may be set by %s", visibleDevices, d.from))
	case d.certainty != known:
		return nil
	case d.image && v.asks:
		return nil // the device plugin's value counts before the image's
	case v.asks:
		return checkOverride(v)
	case !gives(d.value):
		return nil
	}
	severity := High
	if v.privileged {
		severity = Critical
	}
	if d.image {
		return v.finding(ByImage, severity, d.at, fmt.Sprintf("gets GPUs by %s=%s of its image and asks for none", visibleDevices, d.value))
	}
	return v.finding(ByVariable, severity, valued(d), fmt.Sprintf("gets GPUs by %s=%s and asks for none", visibleDevices, d.value))
}

func checkOverride(v *view) []Finding {
	d := v.devices
	severity, what := Medium, "asks for a GPU and chooses devices itself"
	switch {
	case all(d.value) && gives(d.value):
		severity, what = High, "asks for a GPU and takes all"
	case !gives(d.value):
		severity, what = Low, "asks for a GPU and hides it from itself"
	}
	return v.finding(VariableOnGrant, severity, valued(d), fmt.Sprintf("%s by %s=%s", what, visibleDevices, d.value))
}

// valued is the place of a setting with the value that it comes to.
func valued(s setting) Text {
	s.at.Value = s.value
	return s.at
}

// checkLegacy: GT-G013.
func checkLegacy(v *view) []Finding {
	version := v.env.get(cudaVersion)
	if v.asks || v.devices.certainty != unset || version.certainty != known && version.certainty != unknown {
		return nil
	}
	if v.env.get(requireCUDA).certainty != unset || version.certainty == known && version.value == "" {
		return nil
	}
	severity := Medium
	if v.env.image != nil {
		severity = High
	}
	return v.finding(LegacyImage, severity, version.at, "sets "+cudaVersion+" and asks for no GPU")
}

// checkShare: GT-G014.
func checkShare(v *view) []Finding {
	control := v.env.get(disableControl)
	if !v.asks || control.certainty != known || control.value != "true" && control.value != "1" {
		return nil
	}
	return v.finding(ShareControl, High, valued(control), fmt.Sprintf("switches off the limits of its share by %s=%s", disableControl, control.value))
}

// feature is a variable that asks for devices of the driver.
type feature struct {
	name     string
	severity Severity
	always   bool // also in a container that asks for a GPU
	value    string
}

// features, as the toolkit's documentation and code name them. Value is what
// switches one on; empty: everything but nothing, none and void.
var features = []feature{
	{name: "NVIDIA_MIG_CONFIG_DEVICES", severity: High, always: true},
	{name: "NVIDIA_MIG_MONITOR_DEVICES", severity: Medium},
	{name: "NVIDIA_IMEX_CHANNELS", severity: Medium},
	{name: "NVIDIA_NVSWITCH", severity: Low, value: "enabled"},
	{name: "NVIDIA_GDS", severity: Low, value: "enabled"},
	{name: "NVIDIA_MOFED", severity: Low, value: "enabled"},
	{name: "NVIDIA_GDRCOPY", severity: Low, value: "enabled"},
}

// checkFeatures: GT-G012.
func checkFeatures(v *view) []Finding {
	var out []Finding
	for _, f := range features {
		got := v.env.get(f.name)
		on := got.certainty == unknown || got.certainty == known && (f.value == "" && gives(got.value) || f.value != "" && got.value == f.value)
		if on && (f.always || !v.asks) {
			out = append(out, v.finding(DriverFeature, f.severity, got.at, "asks for devices of the driver by "+f.name)...)
		}
	}
	return out
}
