//go:build e2e

package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/resources"
)

// TestNoPasswordLeaks lives through much with passwords of all kinds, and then looks for each of them everywhere but in the
// Secrets and in the resource that has one in plain text.
func TestNoPasswordLeaks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	const first, second, ofSecret, wrong = "Tr0ub4dor-first", "Tr0ub4dor-second", "Tr0ub4dor-secret", "Tr0ub4dor-wrong"
	secret := &corev1.Secret{ObjectMeta: at(p.name, "mine"), StringData: map[string]string{"password": ofSecret}}
	p.create(secret)
	plain := p.redis("plain", 2)
	plain.Spec.Password = first
	p.create(plain)
	bySecret := p.redis("by-secret", 2)
	bySecret.Spec.PasswordSecret = &cachev1.SecretKeyReference{Name: secret.Name}
	p.create(bySecret)
	p.awaitRunning("plain")
	r := p.awaitRunning("by-secret")

	// What could make somebody print one: refused logins, changed passwords, failed steps, lost primaries, an object in the way.
	p.refused(p.service("plain", wrong), "WRONGPASS", "GET", "k")
	p.change("plain", func(r *cachev1.RedisCluster) { r.Spec.Password = second })
	p.awaitAnswer(p.service("plain", second), "OK", "SET", "k", "v")
	killProcess(t, p.pod(r.Status.Primary))
	p.awaitAnotherPrimary("by-secret", r.Status.Primary)
	p.awaitAnswer(p.service("by-secret", ofSecret), "OK", "SET", "k", "v")
	p.create(&corev1.ConfigMap{ObjectMeta: at(p.name, "blocked-config")})
	blocked := p.redis("blocked", 1)
	blocked.Spec.Password = first
	p.create(blocked)
	p.awaitStatus("blocked", "in conflict", degradedBy(cachev1.ReasonNameConflict))

	passwords := map[string]string{"the first": first, "the second": second, "the one in a Secret": ofSecret, "a wrong one": wrong}
	for _, name := range []string{"plain", "by-secret"} {
		p.addDerived(passwords, name)
	}
	forms := map[string]string{}
	for what, password := range passwords {
		forms[what] = password
		forms[what+", in base64"] = strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(password)), "=")
		forms[what+", in hex"] = hex.EncodeToString([]byte(password))
	}
	haystack := p.readable(t)
	for where, text := range haystack {
		for what, form := range forms {
			if strings.Contains(text, form) { // not NotContains, which would print all of it
				assert.Fail(t, what+" is in "+where)
			}
		}
	}
	// The search finds what is there.
	require.Contains(t, strings.Join(values(haystack), ""), "by-secret")
}

// addDerived adds the passwords of the operator's own users, and the seed that they are derived from.
func (p *place) addDerived(passwords map[string]string, name string) {
	p.t.Helper()
	var own corev1.Secret
	require.NoError(p.t, kube.Get(p.t.Context(), p.key(resources.SecretName(name)), &own))
	seed := own.Data[resources.SecretKeySeed]
	require.NotEmpty(p.t, seed)
	r := p.get(name)
	passwords["the seed of "+name] = string(seed)
	passwords["the operator's on "+name] = resources.Derive(seed, credentials.OperatorUser, 1)
	for epoch := int64(1); epoch <= r.Status.Claim.Epoch; epoch++ {
		passwords[fmt.Sprintf("the replicas' on %s in epoch %d", name, epoch)] = resources.Derive(seed, credentials.ReplicationUser, epoch)
	}
	// Derived as the nodes know them, or the search would be for nothing.
	p.answers(p.node(r.Status.Primary, "").as(credentials.OperatorUser,
		passwords["the operator's on "+name]), "PONG", "PING")
}

// readable is all that somebody may read who may not read Secrets: by where it is.
func (p *place) readable(t *testing.T) map[string]string {
	t.Helper()
	ctx := t.Context()
	found := map[string]string{}
	all, err := kube.everything(ctx, p.name)
	require.NoError(t, err)
	for i := range all {
		o := &all[i]
		if o.GetKind() == "Secret" {
			continue
		}
		if o.GetKind() == "RedisCluster" {
			// The password in plain text is where the user wrote it; what the operator wrote is the status.
			o.Object = map[string]any{"metadata": map[string]any{"annotations": o.GetAnnotations()}, "status": o.Object["status"]}
			o.SetAnnotations(nil)
		}
		text, err := json.Marshal(o.Object)
		require.NoError(t, err)
		found[fmt.Sprintf("%s %s", o.GetKind(), all[i].GetName())] += string(text)
	}
	var pods corev1.PodList
	require.NoError(t, kube.List(ctx, &pods, client.InNamespace(p.name)))
	for i := range pods.Items {
		pod := &pods.Items[i]
		text, err := kube.logs(ctx, pod, corev1.PodLogOptions{})
		require.NoError(t, err)
		found["log of pod "+pod.Name] = text
		if pod.Status.ContainerStatuses[0].RestartCount > 0 {
			text, err := kube.logs(ctx, pod, corev1.PodLogOptions{Previous: true})
			require.NoError(t, err)
			found["log of the last run of pod "+pod.Name] = text
		}
	}
	text, err := kube.operatorLogs(ctx, time.Time{})
	require.NoError(t, err)
	require.Contains(t, text, p.name)
	found["the operator's log"] = text
	operators, err := kube.operatorPods(ctx)
	require.NoError(t, err)
	for i := range operators {
		text, err := kube.core.CoreV1().RESTClient().Get().Namespace(operatorNamespace).Resource("pods").
			Name(operators[i].Name + ":8080").SubResource("proxy").Suffix("metrics").DoRaw(ctx)
		require.NoError(t, err)
		require.Contains(t, string(text), "controller_runtime")
		found["metrics of "+operators[i].Name] = string(text)
	}
	return found
}

func values(m map[string]string) []string {
	var all []string
	for _, value := range m {
		all = append(all, value)
	}
	return all
}
