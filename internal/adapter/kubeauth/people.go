// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"fmt"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"

	"github.com/gputally/gputally/internal/core/access"
)

// May says whether who has a token may do a verb on a path, as rules of
// ClusterRoles with nonResourceURLs say, and who that is: no error, a *access.Denied that shows the rule
// that is missing, or a *journal.Busy where Kubernetes cannot be asked. The token
// may be one for the API server (that of a kubeconfig, or of any pod), or one made
// for this server, which nobody else can use. grant is what the missing rule should
// name: the path itself, or a pattern that covers it.
func (a *Authority) May(ctx context.Context, token, verb, path, grant string) (user string, err error) {
	who, err := a.holder(ctx, token, false)
	if err != nil {
		return "", err
	}
	spec := authz.SubjectAccessReviewSpec{
		User: who.Username, UID: who.UID, Groups: who.Groups, Extra: extraOf(who),
		NonResourceAttributes: &authz.NonResourceAttributes{Verb: verb, Path: path},
	}
	k, err := hashOf(spec)
	if err != nil {
		return "", err
	}
	got, err := a.rights.get(ctx, k, func(ctx context.Context) (answer[struct{}], error) {
		status, err := a.asker.may(ctx, spec)
		if err != nil {
			return answer[struct{}]{}, err
		}
		if !status.Allowed || status.Denied {
			return answer[struct{}]{until: a.Now().Add(keepBad)}, nil
		}
		return answer[struct{}]{good: true, until: a.Now().Add(keepGood)}, nil
	})
	if err != nil || got.good {
		return who.Username, err
	}
	return "", &access.Denied{Known: true, Why: fmt.Sprintf("%s may not %s %s", who.Username, verb, path),
		Hint: fmt.Sprintf(`bind a ClusterRole to it that has the rule: {nonResourceURLs: [%q], verbs: [%q]}`, grant, verb)}
}

func extraOf(user authn.UserInfo) map[string]authz.ExtraValue {
	if len(user.Extra) == 0 {
		return nil
	}
	out := make(map[string]authz.ExtraValue, len(user.Extra))
	for k, v := range user.Extra {
		out[k] = authz.ExtraValue(v)
	}
	return out
}
