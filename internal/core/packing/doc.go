// SPDX-License-Identifier: Apache-2.0

// Package packing owns the question whether the pods of a fleet fit on fewer or
// cheaper nodes, and in which steps they get there: the model of a fleet, the
// layouts that MIG cards can have, a search, a bound on what any search could
// reach, and a check of plans that shares no code with the search.
//
// It does not own what a pod needs (package advice), nor what a plan saves on an
// invoice beyond the prices it is given. It moves nothing: a plan is for people.
//
// Every function is pure. The same fleet gives the same plan, in whatever order
// its parts are given; the search is bounded by counted work, not by a clock.
package packing
