// SPDX-License-Identifier: Apache-2.0

package workload

import "testing"

func TestWorkloadOfAPod(t *testing.T) {
	for _, c := range []struct {
		name, hash  string
		owner, want Owner
	}{
		{"a Deployment's", "6d4cf", Owner{"ReplicaSet", "my-web-6d4cf", "u"}, Owner{Kind: "Deployment", Name: "my-web"}},
		{"another hash", "6d4cg", Owner{"ReplicaSet", "my-web-6d4cf", "u"}, Owner{"ReplicaSet", "my-web-6d4cf", "u"}},
		{"no hash", "", Owner{"ReplicaSet", "my-web-", "u"}, Owner{"ReplicaSet", "my-web-", "u"}},
		{"the hash alone", "6d4cf", Owner{"ReplicaSet", "-6d4cf", "u"}, Owner{"ReplicaSet", "-6d4cf", "u"}},
		{"not a ReplicaSet", "6d4cf", Owner{"Rollout", "my-web-6d4cf", "u"}, Owner{"Rollout", "my-web-6d4cf", "u"}},
		{"a Job with a date", "", Owner{"Job", "train-20261101", "u"}, Owner{"Job", "train-20261101", "u"}},
		{"nobody's", "6d4cf", Owner{}, Owner{}},
	} {
		p := Pod{Owner: c.owner, Labels: map[string]string{labelHash: c.hash}}
		if got := p.Workload(); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
