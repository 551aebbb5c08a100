// SPDX-License-Identifier: Apache-2.0

package kubeforward

// Verify lets tests check certificates without a pod.
var Verify = verify
