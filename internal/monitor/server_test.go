//go:build integration

package monitor_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/redis/redistest"
	"example.com/redis-operator/internal/state"
)

var owner = types.NamespacedName{Namespace: "test", Name: "my-redis"}

// watched is a monitor under test and the wake-ups it gave.
type watched struct {
	*monitor.Monitor
	t     *testing.T
	wakes atomic.Int64
}

func watch(t *testing.T, targets ...monitor.Target) *watched {
	t.Helper()
	w := &watched{t: t}
	w.Monitor = monitor.New(redis.DirectDialer(), func(types.NamespacedName) { w.wakes.Add(1) }, logr.Discard())
	t.Cleanup(func() {
		w.Close()
		assertNoGoroutines(t)
	})
	w.Watch(owner, targets)
	return w
}

// assertNoGoroutines fails where a goroutine of the packages under test is left.
func assertNoGoroutines(t *testing.T) {
	t.Helper()
	assert.Eventually(t, func() bool {
		stacks := make([]byte, 1<<20)
		all := string(stacks[:runtime.Stack(stacks, true)])
		for _, name := range []string{"monitor.(*", "redis.(*link)"} {
			if strings.Contains(all, name) {
				return false
			}
		}
		return true
	}, 2*time.Second, 10*time.Millisecond, "goroutines are left")
}

func target(s *redistest.Server, uid types.UID) monitor.Target {
	a := s.Address()
	return monitor.Target{
		Namespace: a.Namespace, Pod: a.Pod, UID: uid, IP: a.IP, Port: a.Port,
		Username: redistest.OperatorUser, Logins: []monitor.Login{{Password: redistest.OperatorPassword}},
	}
}

func (w *watched) of(uid types.UID) monitor.Observation { return w.Observations(owner)[uid] }

// await waits until the observation is as asked, and tells how long that took.
func (w *watched) await(uid types.UID, what string, is func(monitor.Observation) bool) time.Duration {
	w.t.Helper()
	began := time.Now()
	require.Eventually(w.t, func() bool { return is(w.of(uid)) }, 10*time.Second, time.Millisecond, what)
	took := time.Since(began)
	w.t.Logf("%s after %s", what, took)
	return took
}

// gap waits for the next answer and is the time between it and the one before.
func (w *watched) gap(uid types.UID) time.Duration {
	before := w.of(uid).Heard
	w.await(uid, "next answer", func(o monitor.Observation) bool { return !o.Heard.Equal(before) })
	return w.of(uid).Heard.Sub(before)
}

func link(l state.Link) func(monitor.Observation) bool {
	return func(o monitor.Observation) bool { return o.Link == l }
}

func TestDeathAndRestart(t *testing.T) {
	s := redistest.Start(t, redistest.Fence...)
	w := watch(t, target(s, "a"))
	w.await("a", "first answer", link(state.LinkUp))
	first := w.of("a")
	w.NoteAccess("a", first.Redis.RunID, "hash")
	w.NoteReplication("a", first.Redis.RunID, 7)
	w.NoteReplication("a", "of another process", 8)
	assert.Equal(t, "hash", w.of("a").AccessHash)
	assert.EqualValues(t, 7, w.of("a").ReplicationGeneration)
	assert.WithinDuration(t, time.Now(), w.of("a").AttachedAt, time.Second)
	assert.Equal(t, first.Heard, first.FencedSince)

	wakes := w.wakes.Load()
	s.Signal(syscall.SIGKILL)
	// About 25 ms, or 45 for a connection younger than 100 ms; the rest is for a busy machine.
	assert.Less(t, w.await("a", "refused", link(state.LinkRefused)), 250*time.Millisecond)
	assert.Equal(t, first.Redis.RunID, w.of("a").Redis.RunID, "what it last said stays known")
	require.Eventually(t, func() bool { return w.wakes.Load() > wakes }, time.Second, time.Millisecond)
	assert.ErrorIs(t, w.Do(t.Context(), "a", first.Redis.RunID, mustNotRun(t)), monitor.ErrNotThere)

	s.Kill()
	s.Run()
	w.await("a", "restarted", func(o monitor.Observation) bool {
		return o.Link == state.LinkUp && o.Redis.RunID != first.Redis.RunID
	})
	assert.Empty(t, w.of("a").AccessHash)
	assert.Zero(t, w.of("a").ReplicationGeneration)
	assert.True(t, w.of("a").AttachedAt.IsZero())
	assert.True(t, w.of("a").FencedSince.After(first.FencedSince))
	assert.EqualValues(t, -1, w.of("a").Redis.PreviousOffset)
	assert.ErrorIs(t, w.Do(t.Context(), "a", first.Redis.RunID, mustNotRun(t)), monitor.ErrNotThere)
}

func mustNotRun(t *testing.T) func(context.Context, *redis.Node) error {
	return func(context.Context, *redis.Node) error {
		t.Error("this must not run on another process")
		return nil
	}
}

func TestStoppedProcessIsSilent(t *testing.T) {
	s := redistest.Start(t)
	w := watch(t, target(s, "a"))
	w.await("a", "first answer", link(state.LinkUp))
	s.Signal(syscall.SIGSTOP)
	stopped := time.Now()
	assert.Less(t, w.await("a", "silent", link(state.LinkSilent)), 2500*time.Millisecond)
	o := w.of("a")
	assert.Equal(t, o.Heard, o.LinkSince)
	assert.WithinDuration(t, stopped, o.LinkSince, 1100*time.Millisecond)

	s.Signal(syscall.SIGCONT)
	w.await("a", "up again", link(state.LinkUp))
	s.Signal(syscall.SIGSTOP)
	w.await("a", "silent", link(state.LinkSilent))
	s.Signal(syscall.SIGKILL)
	assert.Less(t, w.await("a", "dead after a silence", link(state.LinkRefused)), 500*time.Millisecond)
}

func TestWrongPasswordIsDeniedUntilCorrected(t *testing.T) {
	s := redistest.Start(t)
	wrong := target(s, "a")
	wrong.Logins = []monitor.Login{{Password: "wrong"}}
	w := watch(t, wrong)
	w.await("a", "denied", link(state.LinkDenied))
	w.Watch(owner, []monitor.Target{target(s, "a")})
	w.await("a", "up", link(state.LinkUp))
}

func TestTakeoverShutsOutTheOtherOperator(t *testing.T) {
	s := redistest.Start(t)
	overtaken, leader := watch(t, target(s, "a")), watch(t, target(s, "a"))
	defer overtaken.Close() // the end of the leader's looks for goroutines of either
	overtaken.await("a", "up", link(state.LinkUp))
	leader.await("a", "up", link(state.LinkUp))
	runID := leader.of("a").Redis.RunID

	require.NoError(t, leader.Do(t.Context(), "a", runID, func(ctx context.Context, n *redis.Node) error {
		if err := n.SetUser(ctx, redistest.OperatorUser, "resetpass", ">next"); err != nil {
			return err
		}
		return n.KillOthers(ctx, redistest.OperatorUser)
	}))
	leader.NoteOperatorGeneration("a", runID, 1)
	overtaken.await("a", "denied", link(state.LinkDenied))
	assert.ErrorIs(t, overtaken.Do(t.Context(), "a", runID, mustNotRun(t)), monitor.ErrNotThere)

	next := target(s, "a")
	next.Logins = []monitor.Login{{Generation: 1, Password: "next"}, {Password: redistest.OperatorPassword}}
	leader.Watch(owner, []monitor.Target{next})
	assert.Equal(t, state.LinkUp, leader.of("a").Link)
	assert.NoError(t, leader.Do(t.Context(), "a", runID, func(context.Context, *redis.Node) error { return nil }), "the connection stands")

	s.Kill()
	s.Run()
	leader.await("a", "restarted, with the password of its file", func(o monitor.Observation) bool {
		return o.Link == state.LinkUp && o.Redis.RunID != runID
	})
	assert.Zero(t, leader.of("a").OperatorGeneration)
}

func TestStartIsNoticedSoon(t *testing.T) {
	s := redistest.New(t, redistest.Fence...)
	w := watch(t, target(s, "a"))
	w.await("a", "refused", link(state.LinkRefused))
	assert.True(t, w.of("a").Heard.IsZero())
	s.Run()
	assert.Less(t, w.await("a", "up", link(state.LinkUp)), 200*time.Millisecond)
}

func TestDoActsAndReadsAgain(t *testing.T) {
	s := redistest.Start(t, redistest.Fence...)
	w := watch(t, target(s, "a"))
	w.await("a", "first answer", link(state.LinkUp))
	runID := w.of("a").Redis.RunID
	require.NoError(t, w.Do(t.Context(), "a", runID, func(ctx context.Context, n *redis.Node) error { return n.PromoteToPrimary(ctx) }))
	assert.Equal(t, state.RolePrimary, w.of("a").Redis.Role)
	assert.GreaterOrEqual(t, w.of("a").Redis.PreviousOffset, int64(0))

	refusal := errors.New("precondition")
	assert.ErrorIs(t, w.Do(t.Context(), "a", runID, func(context.Context, *redis.Node) error { return refusal }), refusal)
	assert.ErrorIs(t, w.Do(t.Context(), "a", "another", mustNotRun(t)), monitor.ErrNotThere)
	assert.ErrorIs(t, w.Do(t.Context(), "a", "", mustNotRun(t)), monitor.ErrNotThere)
	assert.ErrorIs(t, w.Do(t.Context(), "unknown", runID, mustNotRun(t)), monitor.ErrNotThere)
}

func TestQuorumWakesAndIsMarked(t *testing.T) {
	s := redistest.Start(t)
	w := watch(t, target(s, "a"))
	w.await("a", "first answer", link(state.LinkUp))
	runID := w.of("a").Redis.RunID
	do := func(f func(ctx context.Context, n *redis.Node) error) monitor.Observation {
		t.Helper()
		wakes := w.wakes.Load()
		require.NoError(t, w.Do(t.Context(), "a", runID, f))
		assert.Greater(t, w.wakes.Load(), wakes)
		return w.of("a")
	}
	o := do(func(ctx context.Context, n *redis.Node) error { return n.SetQuorum(ctx, 1, 3) })
	assert.EqualValues(t, 1, o.Redis.MinReplicas)
	assert.Equal(t, o.Redis.Offset, o.QuorumMark)

	o = do(func(ctx context.Context, n *redis.Node) error { return n.Freeze(ctx) })
	assert.Equal(t, o.Heard, o.DemotedAt)
	assert.Equal(t, o.Heard, o.FencedSince)
	o = do(func(ctx context.Context, n *redis.Node) error { return n.PromoteToPrimary(ctx) })
	assert.True(t, o.DemotedAt.IsZero())
	assert.True(t, o.FencedSince.IsZero())
}

func TestLagWakes(t *testing.T) {
	primary, replica := redistest.Start(t), redistest.Start(t, redistest.Fence...)
	w := watch(t, target(primary, "p"), target(replica, "r"))
	w.await("p", "primary up", link(state.LinkUp))
	w.await("r", "replica up", link(state.LinkUp))
	attach(w, "r", primary.Port)
	require.NoError(t, w.Do(t.Context(), "p", w.of("p").Redis.RunID, func(ctx context.Context, n *redis.Node) error { return n.SetQuorum(ctx, 1, 4) }))
	w.await("p", "settled", func(o monitor.Observation) bool { return len(o.Redis.Replicas) == 1 && o.Redis.Replicas[0].Online })

	replica.Signal(syscall.SIGSTOP)
	w.await("r", "silent", link(state.LinkSilent))
	lag := func(seconds int64) func(monitor.Observation) bool {
		return func(o monitor.Observation) bool { return o.Redis.Replicas[0].LagSeconds >= seconds }
	}
	w.await("p", "lag of 2 s", lag(2))
	wakes := w.wakes.Load()
	w.await("p", "lag of 3 s", lag(3))
	require.Eventually(t, func() bool { return w.wakes.Load() > wakes }, time.Second, time.Millisecond)
}

// attach makes a node copy from the one at that port.
func attach(w *watched, uid types.UID, port int32) {
	w.t.Helper()
	require.NoError(w.t, w.Do(w.t.Context(), uid, w.of(uid).Redis.RunID, func(ctx context.Context, n *redis.Node) error {
		if err := n.SetReplicationLogin(ctx, redistest.OperatorUser, redistest.OperatorPassword); err != nil {
			return err
		}
		return n.ReplicaOf(ctx, "127.0.0.1", port)
	}))
}

func TestAttachIsNoticedAndThenThereIsSilence(t *testing.T) {
	primary, replica := redistest.Start(t), redistest.Start(t, redistest.Fence...)
	w := watch(t, target(primary, "p"), target(replica, "r"))
	w.await("p", "primary up", link(state.LinkUp))
	w.await("r", "replica up", link(state.LinkUp))
	attach(w, "r", primary.Port)
	w.await("r", "replica linked", func(o monitor.Observation) bool { return o.Redis.LinkUp })
	took := w.await("p", "and seen by the primary", func(o monitor.Observation) bool { return len(o.Redis.Replicas) == 1 && o.Redis.Replicas[0].Online })
	assert.Less(t, took, 300*time.Millisecond)

	// At the steady pace both are read twice more, and nobody is woken.
	for gap := time.Duration(0); gap < 500*time.Millisecond; {
		gap = w.gap("r")
	}
	wakes := w.wakes.Load()
	for range 2 {
		heard := time.Now()
		for _, uid := range []types.UID{"p", "r"} {
			w.await(uid, "heard again", func(o monitor.Observation) bool { return o.Heard.After(heard) })
		}
	}
	assert.Equal(t, wakes, w.wakes.Load(), "woken without a change")

	heard := w.of("p").Heard
	replica.Signal(syscall.SIGKILL)
	w.await("r", "replica refused", link(state.LinkRefused))
	w.await("p", "primary read at once", func(o monitor.Observation) bool { return o.Heard.After(heard) })
	assert.Equal(t, state.LinkUp, w.of("p").Link)
}

func TestWatchSwapsAndForgets(t *testing.T) {
	a, b := redistest.Start(t), redistest.Start(t)
	w := watch(t, target(a, "a"))
	w.await("a", "up", link(state.LinkUp))
	heard := w.of("a")
	w.Watch(owner, []monitor.Target{target(a, "a"), target(b, "b"), {UID: "no address yet"}})
	assert.Equal(t, heard.Redis.RunID, w.of("a").Redis.RunID)
	w.await("b", "up", link(state.LinkUp))
	assert.Len(t, w.Observations(owner), 2)

	// The same pod at another address is another server, which may answer at once.
	w.Watch(owner, []monitor.Target{target(b, "a")})
	assert.NotEqual(t, heard.Redis.RunID, w.of("a").Redis.RunID)
	w.await("a", "up at its new address", link(state.LinkUp))
	assert.NotEqual(t, heard.Redis.RunID, w.of("a").Redis.RunID)
	w.Forget(owner)
	assert.Empty(t, w.Observations(owner))
	assertNoGoroutines(t)
}
