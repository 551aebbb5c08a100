// SPDX-License-Identifier: Apache-2.0

// Package manifest reads manifests of Kubernetes, as people keep them in files
// and as helm template, kustomize build and kubectl get write them: YAML and
// JSON, several documents in one input, Lists. It owns finding the documents,
// their lines and fields, and turning workloads, ConfigMaps and RuntimeClasses
// into the model of guard. A document that cannot be read is a mistake with its
// place; those beside it are read all the same.
//
// It does not judge what it reads (guard does), does not validate manifests (the
// API server does), renders no templates, and never reads a Secret's values.
//
// It does not decode into the types of k8s.io/api: they keep no lines, refuse a
// whole object for one wrong field, and know one version of Kubernetes. Here a
// field that the rules do not look at may be anything.
package manifest
