// SPDX-License-Identifier: Apache-2.0

// Package guardpolicy states the rules of core/guard as admission policies of Kubernetes:
// manifests with CEL expressions, evaluated by the API server itself, so that no webhook of
// ours stands in the way of pods. It owns the expressions and the manifests; which rules
// there are, and their words, are core/guard's. It applies nothing.
//
// A policy sees the pod as it is created, and no more: not the image, not the values of
// ConfigMaps. What a rule says of medium severity or above for a pod is denied; what it
// says of low severity is not, except that a container without a request gets
// NVIDIA_VISIBLE_DEVICES=void, which makes what the image says count for nothing.
package guardpolicy
