// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/wording"
)

// Wording has every sentence of advice: nothing is said that is not in it. What is kept
// and sent is the English; whoever says it in another language reads it back. What owners
// wrote stands in gaps as it is.
var Wording = wording.New(demand.Sentences, refusals, remedies, notes, verdicts, tests, steps)

// Say is the sentence of a code with values in its gaps, in the order of the English.
func Say(code string, values ...any) string { return Wording.Say(code, values...) }

// refusals are what is missing.
var refusals = map[string]string{
	"price_node":      "the price of the node",
	"price_of":        "the price of {what}",
	"price_places":    "the price of {n} of {of} places in {currency}",
	"activity_of":     "memory and activity of {partition}",
	"alone_on":        "activity of the workload alone on {partition}",
	"never_used":      "a GPU that was never used: {n} of {of}",
	"node_shares":     "what the node may give to pods, and what its other pods ask for",
	"freeing_request": "a GPU that a smaller request would free",
	"host_use":        "what CPU and memory the pods use and ask for",
	"smaller_request": "a smaller request that holds what is used",
	"size_held":       "the size of what it holds",
	"sound_peak":      "a sound peak: {held} held on a card of {card}, of which {leaked} leaked",
	"leaked":          "{leaked} on its partition are of a pod without a grant there",
	"sm_dram":         "SM and DRAM activity between 0 and 1",
	"paid_until":      "{node} is paid until {date}",
	"engine_ahead":    "an engine that takes memory in advance",
	"fraction_below":  "a fraction below {fraction}",
	"smaller_grant":   "a smaller grant: this one keeps the whole device whatever is in it",
	"pool_used":       "how much of its pool {engine} uses",
	"scrapes":         "{n} of {of} scrapes of the engine succeeded",
	"no_calm":         "time without waiting: in {n} of {of} scrapes requests waited, {preempted} were preempted",
	"smaller_profile": "a smaller profile that holds what is needed",
	"mig_profiles":    "MIG profiles of the card",
	"no_ipc":          "a workload without CUDA IPC",
	"one_gpu":         "a workload on one GPU",
	"one_gpu_has":     "a workload on one GPU: it has {n}",
	"graphics":        "a profile with graphics (+gfx)",
	"min_replicas":    "leave to stop it: at least {n} replicas are asked for",
	"idle_signs":      "activity of the GPU, use of the CPU and, of a server, its requests",
	"idle_longer":     "idle time longer than the wait",
	"node_room":       "a node that the pods leave room to give back",
	"tensor":          "tensor activity, and what the card can do",
	"cheaper_card":    "a cheaper card that holds it",
	"cheaper_knows":   "a cheaper card that holds it and knows its number formats",
	"room_all":        "room for all of them at once",
	"other_limits":    "different limits: {a} and {b} are both {class}",
	"one_trust":       "one trust domain: {a} and {b}",
	"one_device":      "one kind of device: {a} and {b}",
	"mps_whole":       "a whole device: MPS does not serve a MIG instance here",
	"same_minutes":    "activity and DRAM activity of the same minutes",
	"consent":         "the owner's consent: {why}",
	"consent_unread":  "the owner's consent: {why} (its date cannot be read: write 2027-01-31)",
	"one_template":    "time of one template, image, arguments, model and driver",
	"days_seen":       "{have} of {want} days were seen",
	"runs_seen":       "{have} completed runs were seen, {want} are needed",
	"reads_agree":     "reads that agree: {share} of the measured time they did not",
	"measured":        "{share} of the granted time is measured, {want} are needed",
	"surely_worked":   "time in which the workload surely worked",
	"signals_of":      "signals of this workload: {n} hold the partition",
	"latency":         "what latency or throughput is wanted",
}

// remedies are how to get it.
var remedies = map[string]string{
	"add_row":       "add a row for it to the price book (gputally price show NODE says which is missing)",
	"add_rows":      "add rows for their nodes to the price book",
	"both_needed":   "without both nobody can say that it was never used",
	"others_hold":   "others hold it, too",
	"little_use":    "little use is none of this",
	"update_agents": "agents of this version send it where they may read pods and nodes: update them, and wait for a day",
	"not_limiting":  "CPU and memory are not what limits these nodes",
	"cgroups":       "the agent reads it from their cgroups",
	"use_all":       "the pods use what they ask for",
	"size_grade":    "see the grade of the holding: the driver did not give it",
	"node_findings": "see the findings of the node",
	"end_leak":      "end the leak first (see findings)",
	"hopper_them":   "Hopper and later give them to the agent; before, DCGM's profiling metrics do",
	"hopper_it":     "Hopper and later give it to the agent; before, DCGM's profiling metrics do",
	"use_else":      "use it for something else until then",
	"held_needed":   "what it holds is what it needs",
	"pool_needed":   "the pool is not larger than what is needed",
	"combine":       "combine it with sharing, a MIG profile or a smaller card",
	"read_metrics":  "have its metrics read (an annotation on the pod), and the pool's size from its log or arguments",
	"why_unread":    "see why its metrics could not be read",
	"profile_tests": "the tests say what each profile lacks",
	"card_tests":    "the tests say what each lacks",
	"mig_models":    "not every model has MIG, and the driver must know its profiles",
	"mig_apart":     "MIG instances do not share memory between them",
	"no_peer":       "MIG instances have no peer-to-peer access, and one process sees one of them",
	"compute_only":  "a MIG instance runs compute only, unless its profile says otherwise",
	"lower_minimum": "lower the minimum first",
	"quiet":         "low CPU or a quiet network say nothing of a GPU: have the missing one read",
	"in_use":        "it was in use throughout",
	"see_fleet":     "see the tests; pods that cannot move and nodes that are kept say why in the fleet",
	"links":         "the links between the GPUs of a shape decide; measure there",
	"other_tenants": "the tests say what is too much; try other tenants",
	"beside":        "put one that computes beside one that reads memory",
	"neighbours":    "its GPUs wait for each other: a neighbour on one slows all",
	"mig_isolates":  "use MIG, which isolates memory and faults",
	"measure_first": "measure it on the other first",
	"time_slicing":  "use time-slicing",
	"ask_owner":     "ask the owner; the annotation ends on its date",
	"wait_change":   "wait: the period began again with the change",
	"wait_lower":    "wait, or lower nothing yet",
	"gaps":          "see the gaps of the node's agent: gputally explain names them",
	"look_hangs":    "look whether it hangs before sizing it",
	"run_alone":     "run it for a period on a partition of its own; the device's figures are on the node's page",
	"declare":       "declare it, or have the engine's metrics read",
}
