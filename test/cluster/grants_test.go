// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresources "k8s.io/kubelet/pkg/apis/podresources/v1"
)

const podResourcesSocket = "/var/lib/kubelet/pod-resources/kubelet.sock"

// kubeletGrants asks the kubelet who was given what: one line per container and device,
// "pod/container resource id" for a device plugin's and "pod/container claim device" for DRA's.
func kubeletGrants() ([]string, error) {
	conn, err := grpc.NewClient("unix://"+podResourcesSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("dial the kubelet: %w", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	list, err := podresources.NewPodResourcesListerClient(conn).List(ctx, &podresources.ListPodResourcesRequest{})
	if err != nil {
		return nil, fmt.Errorf("list pod resources: %w", err)
	}
	var lines []string
	for _, p := range list.PodResources {
		for _, c := range p.Containers {
			who := p.Name + "/" + c.Name
			for _, d := range c.Devices {
				for _, id := range d.DeviceIds {
					lines = append(lines, who+" "+d.ResourceName+" "+id)
				}
			}
			for _, d := range c.DynamicResources {
				for _, r := range d.ClaimResources {
					lines = append(lines, who+" claim "+r.DeviceName)
				}
			}
		}
	}
	sort.Strings(lines)
	return lines, nil
}

// granted waits until the kubelet's grants are exactly these. A "*" stands for the number
// of a replica, which the kubelet chooses.
func granted(t *testing.T, want ...string) {
	t.Helper()
	sort.Strings(want)
	eventually(t, "the kubelet's grants", func() error {
		lines, err := kubeletGrants()
		if err != nil {
			return err
		}
		for i := range lines {
			if id, _, replica := strings.Cut(lines[i], "::"); replica {
				lines[i] = id + "::*"
			}
		}
		if diff := cmp.Diff(want, lines); diff != "" {
			return fmt.Errorf("grants (-want +got):\n%s", diff)
		}
		return nil
	})
}

// grantedID waits until the kubelet lists one device or claim of a container ("pod/container")
// and returns its id, without the number of a replica.
func grantedID(t *testing.T, who string) string {
	t.Helper()
	var id string
	eventually(t, "the kubelet lists a device of "+who, func() error {
		lines, err := kubeletGrants()
		if err != nil {
			return err
		}
		for _, line := range lines {
			if f := strings.Fields(line); f[0] == who {
				id, _, _ = strings.Cut(f[2], "::")
				return nil
			}
		}
		return fmt.Errorf("it lists %q", lines)
	})
	return id
}

// draName is how NVIDIA's DRA driver calls the cards.
var draName = map[string]string{gpuA: "gpu-0", gpuB: "gpu-1"}

// cardOfClaim is the UUID of the card that a container was given through a claim.
func cardOfClaim(t *testing.T, who string) string {
	t.Helper()
	name := grantedID(t, who)
	for uuid, n := range draName {
		if n == name {
			return uuid
		}
	}
	t.Fatalf("%s was given %q, which is no card", who, name)
	return ""
}
