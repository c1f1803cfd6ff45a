//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestPortAndPassword: the port reaches the servers, and who has the password gets in, through the Service and at every node.
func TestPortAndPassword(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.redis("r", 2)
	r.Spec.Port, r.Spec.Password = 6380, "right"
	r = p.started(r)
	servers := []server{p.service("r", "")}
	for _, pod := range r.Status.Nodes {
		servers = append(servers, p.node(pod, ""))
	}
	for _, s := range servers {
		s = s.onPort(6380)
		p.refused(s, "NOAUTH", "GET", "k")
		p.refused(s.as("", "wrong"), "WRONGPASS", "GET", "k")
		p.awaitAnswer(s.as("", "right"), "", "GET", "k")
		p.refused(s.onPort(6379), "refused", "PING")
	}
	p.answers(servers[0].onPort(6380).as("", "right"), "OK", "SET", "k", "v")

	p.started(p.redis("open", 1))
	p.answers(p.service("open", ""), "OK", "SET", "k", "v")
}

// TestPasswordChanges: in the spec, in a Secret, from the one to the other, and to none; all applied to the running servers.
func TestPasswordChanges(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.redis("r", 2)
	r.Spec.Password = "one"
	r = p.started(r)
	p.answers(p.service("r", "one"), "OK", "SET", "k", "v")
	processes := p.processes("r")

	last := "one"
	applied := func(password string) {
		t.Helper()
		for _, pod := range r.Status.Nodes {
			p.awaitAnswer(p.node(pod, password), "v", "GET", "k")
			if password == "" {
				continue
			}
			p.refused(p.node(pod, last), "WRONGPASS", "GET", "k")
			p.refused(p.node(pod, ""), "NOAUTH", "GET", "k")
		}
		p.awaitRunning("r")
		require.Equal(t, processes, p.processes("r"), "the pods and their processes stay")
		p.onePrimary("r", password)
		last = password
	}

	p.change("r", func(r *cachev1.RedisCluster) { r.Spec.Password = "two" })
	applied("two")
	secret := &corev1.Secret{ObjectMeta: at(p.name, "s"), StringData: map[string]string{"key": "three"}}
	p.create(secret)
	p.change("r", func(r *cachev1.RedisCluster) {
		r.Spec.Password, r.Spec.PasswordSecret = "", &cachev1.SecretKeyReference{Name: "s", Key: "key"}
	})
	applied("three")
	require.NoError(t, kube.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"key":"four"}}`))))
	applied("four")
	p.change("r", func(r *cachev1.RedisCluster) { r.Spec.PasswordSecret = nil })
	applied("")

	// A pod that starts now has the newest rules from the start.
	p.change("r", func(r *cachev1.RedisCluster) { r.Spec.Password = "five" })
	p.awaitAnswer(p.service("r", "five"), "v", "GET", "k")
	replica := p.replicasOf(r)[0]
	p.delete(p.pod(replica))
	r = p.awaitRunningWithout("r", replica)
	for _, pod := range r.Status.Nodes {
		p.awaitAnswer(p.node(pod, "five"), "v", "GET", "k")
		p.refused(p.node(pod, ""), "NOAUTH", "GET", "k")
	}
}

// TestPasswordSecretMissing: without its Secret no Redis starts, the status says which, and it recovers with the Secret.
// If the Secret goes away later, what runs goes on with the password that it had.
func TestPasswordSecretMissing(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.redis("r", 2)
	r.Spec.PasswordSecret = &cachev1.SecretKeyReference{Name: "later"}
	p.create(r)
	p.awaitStatus("r", "without its Secret", degradedBy(cachev1.ReasonSecretMissing, "later", "password"))
	require.Empty(t, p.pods("r"), "no Redis runs without the password it should have")
	secret := &corev1.Secret{ObjectMeta: at(p.name, "later"), StringData: map[string]string{"other": "x"}}
	p.create(secret)
	p.awaitStatus("r", "without the key in its Secret", degradedBy(cachev1.ReasonSecretMissing, "later", "password"))
	require.NoError(t, kube.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"password":"here"}}`))))
	r = p.awaitRunning("r")
	p.answers(p.service("r", "here"), "OK", "SET", "k", "v")
	p.refused(p.service("r", ""), "NOAUTH", "GET", "k")

	processes := p.processes("r")
	p.delete(secret)
	p.awaitStatus("r", "without its Secret", degradedBy(cachev1.ReasonSecretMissing, "later"))
	for _, pod := range r.Status.Nodes {
		p.answers(p.node(pod, "here"), "v", "GET", "k")
		p.refused(p.node(pod, ""), "NOAUTH", "GET", "k")
	}
	p.create(&corev1.Secret{ObjectMeta: at(p.name, "later"), StringData: map[string]string{"password": "again"}})
	p.awaitRunning("r")
	p.awaitAnswer(p.service("r", "again"), "v", "GET", "k")
	require.Equal(t, processes, p.processes("r"))
}
