//go:build integration

package integration

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1 "example.com/redis-operator/api/v1"
)

func TestCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)

	status := w.resource().Status
	assert.Equal(t, "7.0.15", status.Version)
	assert.Contains(t, status.Selector, "app.kubernetes.io/instance="+name)
	for kind, holds := range map[string]bool{
		cachev1.ConditionAvailable: true, cachev1.ConditionReady: true,
		cachev1.ConditionProgressing: false, cachev1.ConditionDegraded: false,
	} {
		assert.Equal(t, holds, meta.IsStatusConditionTrue(status.Conditions, kind), kind)
	}
	assert.EqualValues(t, 1, status.Claim.Epoch)
	w.await("the event Bootstrap", func() error { return exactly(1, w.events("Bootstrap")) })

	// A write on the primary reaches every replica, and no replica takes one.
	primary := address(nodes[0].pod.Status.PodIP)
	conn, err := dialRedis(primary)
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.do("SET", "a", "b")
	require.NoError(t, err)
	count, err := conn.do("WAIT", "2", "2000")
	require.NoError(t, err)
	assert.Equal(t, "2", count)
	for _, n := range nodes[1:] {
		value, err := ask(address(n.pod.Status.PodIP), nil, "GET", "a")
		require.NoError(t, err)
		assert.Equal(t, "b", value)
		_, err = ask(address(n.pod.Status.PodIP), nil, "SET", "a", "c")
		assert.ErrorContains(t, err, "READONLY")
	}
	w.silent(o, 5*time.Second)
}

// The primary's process is killed ten times while a client writes.
func TestFailover(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	load := w.load()
	for round := range 10 {
		load.awaitConfirmed(20)
		old := nodes[0].pod.Name
		w.kubelet.kill(old, syscall.SIGKILL)
		nodes = w.awaitSettled(3)
		require.NotEqual(t, old, nodes[0].pod.Name, "round %d: a primary that lost its data is primary again", round)
	}
	load.requireKept(w.awaitSettled(3))
	assert.EqualValues(t, 11, w.resource().Status.Claim.Epoch)
	w.await("ten events of failovers", func() error { return exactly(10, w.events("Failover")) })
	assert.Empty(t, w.events("DataLost"))
}

func TestAllProcessesDie(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.operator(nil)
	w.create(3)
	before := w.awaitSettled(3)
	_, err := ask(address(before[0].pod.Status.PodIP), nil, "SET", "a", "b")
	require.NoError(t, err)

	w.kubelet.killAll()
	w.await("new processes", func() error {
		_, err := w.differentRuns(3, runIDs(before))
		return err
	})
	w.await("an event of lost data", func() error { return exactly(1, w.events("DataLost")) })
	after := w.awaitSettled(3)
	_, err = ask(address(after[0].pod.Status.PodIP), nil, "SET", "a", "c")
	require.NoError(t, err)
	time.Sleep(time.Second)
	require.NoError(t, exactly(1, w.events("DataLost")))
}

func TestScale(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.operator(nil)
	w.create(3)
	nodes := w.awaitSettled(3)
	primary := nodes[0].pod.Name
	load := w.load()
	for _, size := range []int32{5, 2, 1} {
		load.awaitConfirmed(20)
		w.scale(size)
		nodes = w.awaitSettled(size)
		require.Equal(t, primary, nodes[0].pod.Name, "the primary moved when the size became %d", size)
	}
	load.requireKept(nodes)

	// Alone, it comes back as a writable primary while there is no operator.
	o.end()
	run := nodes[0].info["run_id"]
	w.kubelet.kill(primary, syscall.SIGKILL)
	w.await("a writable server after a crash without an operator", func() error {
		_, err := ask(address(nodes[0].pod.Status.PodIP), nil, "SET", "a", "b")
		return err
	})
	w.operator(nil)
	nodes = w.awaitSettled(1)
	require.NotEqual(t, run, nodes[0].info["run_id"])
	w.await("an event of lost data", func() error { return exactly(1, w.events("DataLost")) })

	w.scale(3)
	nodes = w.awaitSettled(3)
	require.Equal(t, primary, nodes[0].pod.Name)
	for _, n := range nodes {
		value, err := ask(address(n.pod.Status.PodIP), nil, "GET", "a")
		require.NoError(t, err)
		assert.Equal(t, "b", value, n.pod.Name)
	}
}
