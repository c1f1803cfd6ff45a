//go:build integration

package integration

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

// accepted tells whether all nodes take a password; one of "" is no login at all.
func (w *world) accepted(nodes []node, password string) error {
	for _, n := range nodes {
		var login []string
		if password != "" {
			login = []string{password}
		}
		if _, err := ask(address(n.pod.Status.PodIP), login, "GET", "a"); err != nil {
			return fmt.Errorf("%s with password %q: %w", n.pod.Name, password, err)
		}
	}
	return nil
}

// refused tells whether no node takes a password.
func (w *world) refused(nodes []node, password string) error {
	for _, n := range nodes {
		if w.accepted([]node{n}, password) == nil {
			return fmt.Errorf("%s takes password %q", n.pod.Name, password)
		}
	}
	return nil
}

func TestPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	ids := runIDs(nodes)
	open, err := dialRedis(address(nodes[0].pod.Status.PodIP))
	require.NoError(t, err)
	defer open.Close()

	old := ""
	for _, password := range []string{"first", "it's \"second\"", ""} {
		w.change(func(r *cachev1.RedisCluster) { r.Spec.Password = password })
		w.await("the password "+password, func() error { return w.accepted(nodes, password) })
		if password != "" {
			w.await("refusal of the old password", func() error { return w.refused(nodes, old) })
		}
		w.password = password
		nodes = w.awaitSettled(3)
		assert.Equal(t, ids, runIDs(nodes), "a server restarted")
		_, err = open.do("SET", "a", password)
		require.NoError(t, err, "an open connection was dropped")
		old = password
	}
}

func TestPasswordSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(2, func(r *cachev1.RedisCluster) { r.Spec.PasswordSecret = &cachev1.SecretKeyReference{Name: "login"} })
	secretMissing := func() error {
		c := meta.FindStatusCondition(w.resource().Status.Conditions, cachev1.ConditionDegraded)
		if c == nil || c.Reason != cachev1.ReasonSecretMissing {
			return fmt.Errorf("Degraded is %v", c)
		}
		return nil
	}
	w.await("the condition SecretMissing", secretMissing)
	pods, err := w.pods()
	require.NoError(t, err)
	require.Empty(t, pods, "a Redis without the password that it should have")

	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "login"}, StringData: map[string]string{"password": "one"}}
	require.NoError(t, w.Create(w.ctx, secret))
	w.password = "one"
	nodes := w.awaitSettled(2)
	ids := runIDs(nodes)
	require.NoError(t, w.accepted(nodes, "one"))
	require.NoError(t, w.refused(nodes, ""))

	// Changed.
	secret.StringData = map[string]string{"password": "two"}
	require.NoError(t, w.Update(w.ctx, secret))
	w.await("the changed password", func() error { return errors.Join(w.accepted(nodes, "two"), w.refused(nodes, "one")) })
	w.password = "two"

	// Gone: what is set stays, and failovers go on.
	require.NoError(t, w.Delete(w.ctx, secret))
	w.await("the condition SecretMissing", secretMissing)
	require.NoError(t, w.accepted(nodes, "two"))
	require.NoError(t, w.refused(nodes, ""))

	// Another one.
	secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "login"}, StringData: map[string]string{"password": "three"}}
	require.NoError(t, w.Create(w.ctx, secret))
	w.await("the new password", func() error { return errors.Join(w.accepted(nodes, "three"), w.refused(nodes, "two")) })
	w.password = "three"
	assert.Equal(t, ids, runIDs(w.awaitSettled(2)), "a server restarted")
}
