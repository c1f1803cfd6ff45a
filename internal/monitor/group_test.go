package monitor

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/state"
)

func TestDiffers(t *testing.T) {
	base := state.Redis{
		RunID: "r1", Role: state.RolePrimary, ReplicationID: "h1", Offset: 10, MinReplicas: 1, MaxLagSeconds: 3,
		Replicas: []state.ReplicaLink{{IP: "10.0.0.7", Port: 6379, Online: true, Offset: 9}},
	}
	for name, tc := range map[string]struct {
		change func(*state.Redis)
		want   bool
	}{
		"nothing": {change: func(*state.Redis) {}},
		"offsets and times": {change: func(r *state.Redis) {
			r.Offset, r.PreviousOffset, r.UptimeSeconds, r.LinkDownSeconds, r.LastHeardSeconds = 99, 10, 5, 3, 2
		}},
		"how far a replica is": {change: func(r *state.Redis) {
			r.Replicas = []state.ReplicaLink{{IP: "10.0.0.7", Port: 6379, Online: true, Offset: 90, LagSeconds: 1}}
		}},
		"another process":         {change: func(r *state.Redis) { r.RunID = "r2" }, want: true},
		"the role":                {change: func(r *state.Redis) { r.Role = state.RoleReplica }, want: true},
		"what it copies from":     {change: func(r *state.Redis) { r.PrimaryHost = "10.0.0.8" }, want: true},
		"the port it copies from": {change: func(r *state.Redis) { r.PrimaryPort = 1 }, want: true},
		"the link":                {change: func(r *state.Redis) { r.LinkUp = true }, want: true},
		"copying":                 {change: func(r *state.Redis) { r.Syncing = true }, want: true},
		"loading":                 {change: func(r *state.Redis) { r.Loading = true }, want: true},
		"the history":             {change: func(r *state.Redis) { r.ReplicationID = "h2" }, want: true},
		"a replica less":          {change: func(r *state.Redis) { r.Replicas = nil }, want: true},
		"the quorum":              {change: func(r *state.Redis) { r.MinReplicas = 2 }, want: true},
		"the max lag":             {change: func(r *state.Redis) { r.MaxLagSeconds = 4 }, want: true},
		"a replica that lags": {change: func(r *state.Redis) {
			r.Replicas = []state.ReplicaLink{{IP: "10.0.0.7", Port: 6379, Online: true, Offset: 9, LagSeconds: 2}}
		}, want: true},
		"a replica gone from sync": {change: func(r *state.Redis) { r.Replicas = []state.ReplicaLink{{IP: "10.0.0.7", Port: 6379}} }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			other := base
			tc.change(&other)
			assert.Equal(t, tc.want, differs(base, other))
		})
	}
}

func TestLagging(t *testing.T) {
	assert.True(t, lagging(state.ReplicaLink{LagSeconds: 2}, 3))
	assert.True(t, lagging(state.ReplicaLink{LagSeconds: 9}, 3), "and for as long as it lasts")
	assert.False(t, lagging(state.ReplicaLink{LagSeconds: 1}, 3))
	assert.False(t, lagging(state.ReplicaLink{LagSeconds: 0}, 1), "or all would lag always")
	assert.False(t, lagging(state.ReplicaLink{LagSeconds: 60}, 0), "no max lag")
	assert.False(t, lagging(state.ReplicaLink{LagSeconds: 60}, -1), "not known")
}

func TestRestless(t *testing.T) {
	fenced := state.Redis{Role: state.RoleReplica}
	settled := state.Redis{Role: state.RoleReplica, LinkUp: true}
	copying := state.Redis{Role: state.RoleReplica, Syncing: true}
	assert.True(t, restless(settled, 500*time.Millisecond), "just changed")
	assert.False(t, restless(settled, 2*time.Second))
	assert.True(t, restless(fenced, 9*time.Second))
	assert.False(t, restless(fenced, 11*time.Second), "not for ever")
	assert.True(t, restless(copying, time.Hour))
}

func TestPauses(t *testing.T) {
	start := time.Unix(0, 0)
	at := func(count int, after time.Duration) time.Duration {
		return failures{count: count, first: start}.pause(true, start.Add(after))
	}
	assert.Equal(t, confirmPause, at(1, 0))
	assert.Equal(t, shortestPause, at(2, 0))
	assert.Equal(t, eagerPause, at(3, 0))
	assert.Equal(t, eagerPause, at(40, 9*time.Second))
	assert.Equal(t, longestPause, at(100, 11*time.Second))
	assert.Equal(t, confirmPause, failures{count: 2, first: start}.pause(false, start), "another kind of failure is confirmed soon")
	assert.Equal(t, eagerPause, failures{count: 9, first: start}.pause(false, start), "but not for ever")
}

func TestMeaningOfFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		err     error
		want    state.Link
		certain bool
	}{
		"refused":  {err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED), want: state.LinkRefused},
		"reset":    {err: fmt.Errorf("log in: %w", syscall.ECONNRESET), want: state.LinkSilent},
		"no route": {err: errors.New("no route to host"), want: state.LinkSilent},
		"timeout":  {err: fmt.Errorf("INFO: %w", context.DeadlineExceeded), want: state.LinkSilent, certain: true},
	} {
		t.Run(name, func(t *testing.T) {
			link, certain := meaning(tc.err)
			assert.Equal(t, tc.want, link)
			assert.Equal(t, tc.certain, certain)
		})
	}
}
