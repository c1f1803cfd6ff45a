package monitor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/state"
)

// told is an Observation that is given answers, one second apart.
type told struct {
	Observation
	now time.Time
}

func (o *told) hears(r state.Redis) time.Time {
	o.now = o.now.Add(time.Second)
	o.follow(r, o.now)
	o.Redis = r
	return o.now
}

func TestFencedSinceIsOfThisProcessAndThisFence(t *testing.T) {
	fenced := state.Redis{RunID: "r1", Role: state.RoleReplica, PrimaryHost: state.FenceHost, PrimaryPort: state.FencePort}
	replica := state.Redis{RunID: "r1", Role: state.RoleReplica, PrimaryHost: "10.0.0.7", PrimaryPort: 6379}
	o := told{now: time.Unix(0, 0)}
	first := o.hears(fenced)
	o.hears(fenced)
	assert.Equal(t, first, o.FencedSince)
	o.hears(replica)
	assert.Zero(t, o.FencedSince)
	again := o.hears(fenced)
	assert.Equal(t, again, o.FencedSince)
	restarted := fenced
	restarted.RunID = "r2"
	assert.Equal(t, o.hears(restarted), o.FencedSince)
}

func TestDemotedAtIsKeptUntilItIsAPrimaryAgain(t *testing.T) {
	primary, replica := state.Redis{RunID: "r1", Role: state.RolePrimary}, state.Redis{RunID: "r1", Role: state.RoleReplica}
	o := told{now: time.Unix(0, 0)}
	o.hears(replica)
	o.hears(replica)
	assert.Zero(t, o.DemotedAt, "it never was a primary")
	o.hears(primary)
	assert.Zero(t, o.DemotedAt)
	demoted := o.hears(replica)
	assert.Equal(t, demoted, o.DemotedAt)
	replica.LinkUp = true
	o.hears(replica)
	assert.Equal(t, demoted, o.DemotedAt)
	o.hears(primary)
	assert.Zero(t, o.DemotedAt)
	o.hears(replica)
	assert.NotZero(t, o.DemotedAt)
	replica.RunID = "r2"
	o.hears(replica)
	assert.Zero(t, o.DemotedAt, "another process")
	o.hears(primary)
	replica.RunID = "r3"
	o.hears(replica)
	assert.Zero(t, o.DemotedAt, "a process that ended was not demoted")
}

func TestQuorumMarkIsWhereThePresentQuorumBegan(t *testing.T) {
	o := told{now: time.Unix(0, 0)}
	r := state.Redis{RunID: "r1", Role: state.RoleReplica, ReplicationID: "h1", MinReplicas: -1, MaxLagSeconds: -1, Offset: 10}
	for _, step := range []struct {
		what   string
		change func()
		want   int64
	}{
		{"a replica has none", func() {}, 0},
		{"a primary", func() {
			r.Role, r.ReplicationID, r.MinReplicas, r.MaxLagSeconds, r.Offset = state.RolePrimary, "h2", 1, 3, 20
		}, 20},
		{"it goes on writing", func() { r.Offset = 30 }, 20},
		{"the quorum is raised", func() { r.MinReplicas, r.Offset = 2, 40 }, 40},
		{"and kept", func() { r.Offset = 50 }, 40},
		{"the max lag changes", func() { r.MaxLagSeconds, r.Offset = 4, 60 }, 60},
		{"unknown for once", func() { r.MinReplicas, r.Offset = -1, 70 }, 70},
		{"known again", func() { r.MinReplicas, r.Offset = 2, 80 }, 80},
		{"demoted", func() { r.Role, r.MinReplicas, r.MaxLagSeconds, r.Offset = state.RoleReplica, -1, -1, 90 }, 0},
		{"a primary anew", func() { r.Role, r.MinReplicas, r.MaxLagSeconds, r.Offset = state.RolePrimary, 2, 4, 100 }, 100},
		{"demoted and promoted between two answers", func() { r.ReplicationID, r.Offset = "h3", 110 }, 110},
		{"another process", func() { r.RunID, r.Offset = "r2", 5 }, 5},
	} {
		step.change()
		o.hears(r)
		assert.Equal(t, step.want, o.QuorumMark, step.what)
	}
}

func TestNotesAreForgottenWithTheProcess(t *testing.T) {
	o := told{now: time.Unix(0, 0)}
	o.hears(state.Redis{RunID: "r1", Role: state.RolePrimary})
	o.AccessHash, o.ReplicationGeneration, o.AttachedAt = "hash", 7, o.now
	o.hears(state.Redis{RunID: "r1", Role: state.RoleReplica})
	assert.Equal(t, "hash", o.AccessHash)
	assert.EqualValues(t, 7, o.ReplicationGeneration)
	assert.NotZero(t, o.AttachedAt)
	o.hears(state.Redis{RunID: "r2", Role: state.RoleReplica})
	assert.Empty(t, o.AccessHash)
	assert.Zero(t, o.ReplicationGeneration)
	assert.Zero(t, o.AttachedAt)
}
