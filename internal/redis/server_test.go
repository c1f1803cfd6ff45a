//go:build integration

package redis_test

import (
	"context"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/redis/redistest"
	"example.com/redis-operator/internal/state"
)

var operator = redis.Credentials{Username: redistest.OperatorUser, Password: redistest.OperatorPassword}

func connect(t *testing.T, s *redistest.Server) *redis.Node {
	t.Helper()
	n, err := redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), operator)
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func info(t *testing.T, n *redis.Node) state.Redis {
	t.Helper()
	r, err := n.Info(t.Context())
	require.NoError(t, err)
	return r
}

func TestFencedNodeIsReadAndPromoted(t *testing.T) {
	n := connect(t, redistest.Start(t, redistest.Fence...))

	r := info(t, n)
	assert.Equal(t, state.RoleReplica, r.Role)
	assert.Equal(t, state.FenceHost, r.PrimaryHost)
	assert.EqualValues(t, state.FencePort, r.PrimaryPort)
	assert.False(t, r.LinkUp)
	assert.Len(t, r.RunID, 40)
	assert.NotEmpty(t, r.Version)

	require.NoError(t, n.SetReplicationLogin(t.Context(), "replication", "for epoch 1"))
	require.NoError(t, n.SetUser(t.Context(), "replication", "on", ">for epoch 1", "+psync", "+replconf", "+ping"))
	require.NoError(t, n.PromoteToPrimary(t.Context()))
	assert.Equal(t, state.RolePrimary, info(t, n).Role)
	require.NoError(t, n.Freeze(t.Context()))
	assert.Equal(t, r.PrimaryPort, info(t, n).PrimaryPort)
}

func TestReplicaAttaches(t *testing.T) {
	primary, replica := redistest.Start(t), redistest.Start(t, redistest.Fence...)
	p, r := connect(t, primary), connect(t, replica)
	require.NoError(t, p.SetUser(t.Context(), "replication", "on", ">secret", "+psync", "+replconf", "+ping"))
	require.NoError(t, r.SetReplicationLogin(t.Context(), "replication", "secret"))
	require.NoError(t, r.ReplicaOf(t.Context(), "127.0.0.1", primary.Port))

	require.Eventually(t, func() bool {
		replicas := info(t, p).Replicas
		return info(t, r).LinkUp && len(replicas) == 1 && replicas[0].Online
	}, 10*time.Second, 10*time.Millisecond)
	assert.Equal(t, "127.0.0.1", info(t, p).Replicas[0].IP)
	assert.Equal(t, replica.Port, info(t, p).Replicas[0].Port)
	assert.Equal(t, info(t, p).ReplicationID, info(t, r).ReplicationID)
}

func TestDeathIsKnownAtOnce(t *testing.T) {
	s := redistest.Start(t)
	n := connect(t, s)
	info(t, n)

	began := time.Now()
	s.Signal(syscall.SIGKILL)
	select {
	case <-n.Broken():
	case <-time.After(5 * time.Second):
		t.Fatal("the death was not noticed")
	}
	took := time.Since(began)
	t.Logf("noticed after %s", took)
	assert.Less(t, took, 50*time.Millisecond)
	s.Kill()

	_, err := n.Info(t.Context())
	require.Error(t, err)
	_, err = redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), operator)
	require.Error(t, err)
	assert.True(t, redis.IsRefused(err), err)
	assert.False(t, redis.IsDenied(err), err)
}

func TestWrongLoginIsDenied(t *testing.T) {
	s := redistest.Start(t, "requirepass another")
	for name, credentials := range map[string]redis.Credentials{
		"wrong password": {Username: redistest.OperatorUser, Password: "a wrong one"},
		"unknown user":   {Username: "nobody", Password: "a wrong one"},
		"no login":       {},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), credentials)
			require.Error(t, err)
			assert.True(t, redis.IsDenied(err), err)
			assert.False(t, redis.IsRefused(err), err)
			assert.NotContains(t, err.Error(), "a wrong one")
		})
	}
}

func TestMissingPermissionIsDenied(t *testing.T) {
	s := redistest.Start(t)
	n := connect(t, s)
	require.NoError(t, n.SetUser(t.Context(), "poor", "on", ">poor", "+ping"))
	poor, err := redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), redis.Credentials{Username: "poor", Password: "poor"})
	require.NoError(t, err)
	defer poor.Close()
	_, err = poor.Info(t.Context())
	assert.True(t, redis.IsDenied(err), err)
}

func TestErrorsHoldNoSecrets(t *testing.T) {
	n := connect(t, redistest.Start(t))
	for _, rule := range []string{"#c0ffee", "<never-set"} {
		err := n.SetUser(t.Context(), "someone", rule)
		require.Error(t, err)
		assert.True(t, redis.IsReply(err))
		assert.NotContains(t, err.Error(), rule[1:])
	}
}

func TestStoppedProcessRunsIntoTheTimeLimit(t *testing.T) {
	s := redistest.Start(t)
	n := connect(t, s)
	s.Signal(syscall.SIGSTOP)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := n.Info(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = redis.Connect(ctx, redis.DirectDialer(), s.Address(), operator)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = redis.Connect(ctx, redis.DirectDialer(), s.Address(), operator)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.False(t, redis.IsRefused(err))
}

func TestIdleConnectionStands(t *testing.T) {
	n := connect(t, redistest.Start(t, redistest.Fence...))
	select {
	case <-n.Broken():
		t.Fatal("an idle connection to a fenced node broke")
	case <-time.After(1500 * time.Millisecond):
	}
	info(t, n)
}

func TestNodeBlockedByAScriptIsConnectedTo(t *testing.T) {
	s := redistest.Start(t, "lua-time-limit 1") // in ms
	script, killer := dial(t, s), dial(t, s)
	script.send(`EVAL "while true do end" 0`)
	require.Eventually(t, func() bool { return strings.HasPrefix(killer.ask("PING"), "-BUSY") }, 5*time.Second, 5*time.Millisecond)
	assert.Contains(t, killer.ask("CLIENT SETNAME killer"), "-BUSY")
	n := connect(t, s)
	_, err := n.Info(t.Context())
	assert.True(t, redis.IsReply(err), err)
	assert.False(t, redis.IsDenied(err), err)
	_, err = redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), redis.Credentials{Username: "nobody", Password: "a wrong one"})
	assert.True(t, redis.IsDenied(err), err)

	require.Equal(t, "+OK", killer.ask("SCRIPT KILL"))
	require.Eventually(t, func() bool { _, err := n.Info(t.Context()); return err == nil }, 5*time.Second, 5*time.Millisecond)
}

func TestNodeThatLoadsIsConnectedTo(t *testing.T) {
	dir := "dir " + t.TempDir()
	s := redistest.Start(t, dir)
	c := dial(t, s)
	require.Equal(t, "$-1", c.ask(`EVAL "for i=1,1000 do redis.call('SET', i, string.rep('x', 100)) end" 0`))
	require.Equal(t, "+OK", c.ask("SAVE"))
	s.Kill()
	slow := redistest.Start(t, dir, "key-load-delay 1000", "loading-process-events-interval-bytes 1024") // 1000 us for each key
	n := connect(t, slow)
	assert.True(t, info(t, n).Loading)
	_, err := redis.Connect(t.Context(), redis.DirectDialer(), slow.Address(), redis.Credentials{Username: "nobody", Password: "a wrong one"})
	assert.True(t, redis.IsDenied(err), err)
	err = n.Freeze(t.Context())
	assert.True(t, redis.IsReply(err), err)
	assert.ErrorContains(t, err, "LOADING")
	require.Eventually(t, func() bool { return !info(t, n).Loading }, 10*time.Second, 5*time.Millisecond)
}

func TestNothingIsLeftOfRefusedLogins(t *testing.T) {
	s := redistest.Start(t)
	before := runtime.NumGoroutine()
	for range 100 {
		_, err := redis.Connect(t.Context(), redis.DirectDialer(), s.Address(), redis.Credentials{Username: "nobody", Password: "a wrong one"})
		require.True(t, redis.IsDenied(err), err)
	}
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, 2*time.Second, 10*time.Millisecond)
}

func TestConnectionsAreSmall(t *testing.T) {
	s := redistest.Start(t)
	connect(t, s)
	const count = 200
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	goroutines := runtime.NumGoroutine()
	for range count {
		info(t, connect(t, s))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := int64(after.HeapAlloc+after.StackInuse-before.HeapAlloc-before.StackInuse) / count
	t.Logf("%d bytes and %.1f goroutines a connection", each, float64(runtime.NumGoroutine()-goroutines)/count)
	assert.Less(t, each, int64(10<<10))
}
