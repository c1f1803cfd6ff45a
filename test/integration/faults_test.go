//go:build integration

package integration

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
)

// Two operators act at the same time, as when a leader does not notice that it lost its lease.
func TestTwoOperators(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.operator(nil), w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	load := w.load()
	for range 3 {
		load.awaitConfirmed(20)
		old := nodes[0].pod.Name
		w.kubelet.kill(old, syscall.SIGKILL)
		nodes = w.awaitSettled(3)
		require.NotEqual(t, old, nodes[0].pod.Name)
	}
	load.awaitConfirmed(20)
	w.scale(2)
	load.requireKept(w.awaitSettled(2))
	assert.Empty(t, w.events("DataLost"))
	w.silent(one, 2*time.Second)
	w.silent(other, time.Second)
}

func TestStatusWiped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	before := w.awaitSettled(3)
	load := w.load()
	load.awaitConfirmed(20)
	w.wipeStatus()
	w.await("an event Adopt", func() error { return exactly(1, w.events("Adopt")) })
	after := w.awaitSettled(3)
	assert.Equal(t, before[0].pod.Name, after[0].pod.Name, "the primary moved")
	assert.Equal(t, runIDs(before), runIDs(after), "a server restarted")

	// And while there is no operator, and the primary dies too: the best replica is adopted.
	for range 3 {
		load.awaitConfirmed(20)
		w.lastOperator().end()
		w.kubelet.kill(after[0].pod.Name, syscall.SIGKILL)
		w.wipeStatus()
		w.operator(nil)
		last := w.awaitSettled(3)
		assert.NotEqual(t, after[0].pod.Name, last[0].pod.Name)
		after = last
	}
	load.requireKept(after)
	assert.Empty(t, w.events("DataLost"))
}

// Deleting the Secret with the seed must not lock the operator out, nor the next generation of pods.
func TestOwnSecretDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	load := w.load()
	key := types.NamespacedName{Namespace: w.namespace, Name: resources.SecretName(name)}
	var before corev1.Secret
	require.NoError(t, w.Get(w.ctx, key, &before))
	require.NoError(t, w.Delete(w.ctx, &before))
	w.await("the same seed in a new Secret", func() error {
		var after corev1.Secret
		if err := w.Get(w.ctx, key, &after); err != nil {
			return err
		}
		if after.UID == before.UID || string(after.Data[plan.SeedKey]) != string(before.Data[plan.SeedKey]) {
			return errors.New("not yet")
		}
		if string(after.Data[resources.SecretKeyUsers]) != string(before.Data[resources.SecretKeyUsers]) {
			return errors.New("the ACL users are not what they were")
		}
		return nil
	})
	load.awaitConfirmed(20)
	w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL)
	w.awaitSettled(3)
	load.awaitConfirmed(20)
	w.scale(4)
	load.requireKept(w.awaitSettled(4))
}

// What the operator made and someone deleted or changed comes back.
func TestObjectsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.operator(nil)
	w.create(2)
	before := w.awaitSettled(2)
	load := w.load()
	load.awaitConfirmed(10)
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.namespace, Name: name} }
	for _, object := range []client.Object{
		&corev1.ConfigMap{ObjectMeta: meta(resources.ConfigMapName(name))},
		&corev1.Service{ObjectMeta: meta(resources.ServiceName(name))},
		&corev1.Service{ObjectMeta: meta(resources.ReplicasServiceName(name))},
	} {
		require.NoError(t, w.Get(w.ctx, client.ObjectKeyFromObject(object), object))
		uid := object.GetUID()
		require.NoError(t, w.Delete(w.ctx, object))
		w.await(fmt.Sprintf("a new %T %s", object, object.GetName()), func() error {
			if err := w.Get(w.ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if object.GetUID() == uid {
				return errors.New("it is the old one")
			}
			return nil
		})
	}
	after := w.awaitSettled(2)
	assert.Equal(t, runIDs(before), runIDs(after), "a server restarted")
	load.requireKept(after)
	w.silent(o, time.Second)

	// With the resource everything goes, the pods' processes too.
	require.NoError(t, w.Delete(w.ctx, w.resource()))
	w.await("the end of all pods", func() error {
		pods, err := w.pods()
		if err != nil || len(pods) > 0 {
			return fmt.Errorf("%d pods remain (%w)", len(pods), err)
		}
		if err := w.Get(w.ctx, types.NamespacedName{Namespace: w.namespace, Name: resources.SecretName(name)}, &corev1.Secret{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the Secret remains (%w)", err)
		}
		return nil
	})
}

// What the operator's cache says of pods is two seconds old, as with an API server that is behind.
func TestStaleView(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	o.tap.delay(2 * time.Second)
	load := w.load()
	for range 3 {
		load.awaitConfirmed(20)
		old := nodes[0].pod.Name
		w.kubelet.kill(old, syscall.SIGKILL)
		nodes = w.awaitSettled(3)
		require.NotEqual(t, old, nodes[0].pod.Name)
	}
	load.awaitConfirmed(20)
	w.scale(5)
	nodes = w.awaitSettled(5)
	// Right after a failover the cache shows the old primary's marks.
	w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL)
	w.scale(2)
	w.awaitSettled(2)
	load.awaitConfirmed(20)
	w.scale(1)
	load.requireKept(w.awaitSettled(1))
	assert.Empty(t, w.events("DataLost"))
}

// The primary's pod is deleted, as a drain does, and then a replica's.
func TestPodsDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	load := w.load()
	for _, victim := range []int{0, 1, 0} {
		load.awaitConfirmed(20)
		old := nodes[victim].pod
		require.NoError(t, w.Delete(w.ctx, &old))
		w.await("the end of the pod", func() error {
			if err := w.Get(w.ctx, client.ObjectKeyFromObject(&old), &corev1.Pod{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("it remains (%w)", err)
			}
			return nil
		})
		nodes = w.awaitSettled(3)
	}
	load.requireKept(nodes)
	assert.Empty(t, w.events("DataLost"))
}

// A change that needs new pods replaces them one by one.
func TestRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	before := w.awaitSettled(3)
	load := w.load()
	load.awaitConfirmed(20)
	w.change(func(r *cachev1.RedisCluster) {
		r.Spec.Config = map[string]cachev1.ConfigValue{"maxmemory-policy": "allkeys-lru"}
	})
	var nodes []node
	w.await("three new pods", func() (err error) {
		if nodes, err = w.settled(3); err != nil {
			return err
		}
		for _, n := range nodes {
			if runIDs(before)[n.pod.Name] != "" {
				return errors.New(n.pod.Name + " is an old pod")
			}
		}
		return nil
	})
	load.requireKept(nodes)
	assert.Empty(t, w.events("DataLost"))
}

// While the API server is away nobody is promoted, since nothing could be put on record; the primary that lives serves on.
func TestAPIServerAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	load := w.load()
	load.awaitConfirmed(20)
	o.tap.setAway(true)
	load.awaitConfirmed(20)
	w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL)
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		for _, n := range nodes {
			fields, err := askInfo(address(n.pod.Status.PodIP), nil)
			require.False(t, err == nil && fields["role"] == "master", "%s became the primary without a record", n.pod.Name)
		}
	}
	o.tap.setAway(false)
	after := w.awaitSettled(3)
	require.NotEqual(t, nodes[0].pod.Name, after[0].pod.Name)
	load.requireKept(after)
	assert.Empty(t, w.events("DataLost"))
}
