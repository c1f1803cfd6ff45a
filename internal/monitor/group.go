package monitor

import (
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/state"
)

const (
	// steadyInterval is how often a settled node is asked.
	steadyInterval = time.Second
	// restlessInterval is how often the nodes of a resource are asked while one of them is on its way somewhere.
	restlessInterval = 100 * time.Millisecond
	// restlessAfterChange is for how long a resource is restless after anything changed in a node.
	restlessAfterChange = time.Second
	// restlessUnlinked is for how long after a change a replica without a link, fenced or not, makes a resource restless: it may
	// stay so for days.
	restlessUnlinked = 10 * time.Second
)

// group is the nodes of one resource. They are restless together: a replica that attaches shows in its primary too.
type group struct {
	owner types.NamespacedName
	// members is guarded by Monitor.mu.
	members map[types.UID]*watcher
	// restlessUntil is in nanoseconds since 1970.
	restlessUntil atomic.Int64
}

// interval is how long to wait until a node is asked again.
func (g *group) interval(now time.Time) time.Duration {
	if now.UnixNano() < g.restlessUntil.Load() {
		return restlessInterval
	}
	return steadyInterval
}

// note makes the group restless for a little longer than until the next answer, if this answer says so.
func (g *group) note(r state.Redis, sinceChange time.Duration, now time.Time) {
	if restless(r, sinceChange) {
		g.restlessUntil.Store(now.Add(restlessInterval + restlessInterval/2).UnixNano())
	}
}

// restless tells whether a node's next answer is awaited.
func restless(r state.Redis, sinceChange time.Duration) bool {
	switch {
	case r.Loading || r.Syncing || sinceChange < restlessAfterChange:
		return true
	case r.Role == state.RoleReplica && !r.LinkUp:
		return sinceChange < restlessUnlinked
	}
	return false
}

// differs tells whether two answers differ in more than offsets and times. Of the times, one counts: that a replica lags.
func differs(a, b state.Redis) bool {
	return a.RunID != b.RunID || a.Version != b.Version || a.Role != b.Role || a.Loading != b.Loading ||
		a.ReplicationID != b.ReplicationID || a.ReplicationID2 != b.ReplicationID2 ||
		a.PrimaryHost != b.PrimaryHost || a.PrimaryPort != b.PrimaryPort || a.LinkUp != b.LinkUp || a.Syncing != b.Syncing ||
		a.MinReplicas != b.MinReplicas || a.MaxLagSeconds != b.MaxLagSeconds || replicasDiffer(a, b)
}

// replicasDiffer compares which replicas are connected, online and lagging. The order is that of connecting, in both.
func replicasDiffer(a, b state.Redis) bool {
	if len(a.Replicas) != len(b.Replicas) {
		return true
	}
	for i, was := range a.Replicas {
		is := b.Replicas[i]
		if was.IP != is.IP || was.Port != is.Port || was.Online != is.Online || lagging(was, a.MaxLagSeconds) != lagging(is, b.MaxLagSeconds) {
			return true
		}
	}
	return false
}

// lagging tells whether a replica is a second or less from where its primary ceases to count it as good: the reconciler is to
// decide in that second whether it leaves. With a max lag of 1 s or less there is no such second, and nothing lags.
func lagging(r state.ReplicaLink, maxLagSeconds int32) bool {
	return maxLagSeconds > 1 && r.LagSeconds >= max(int64(maxLagSeconds)-1, 2)
}
