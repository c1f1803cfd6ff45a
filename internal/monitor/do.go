package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/redis"
)

// ErrNotThere: the process that something was to be done to is not there (any more), or not connected.
var ErrNotThere = errors.New("that Redis process is not connected")

// Do runs f on the standing connection to the pod's Redis, provided that it still is the process with this run id; else it
// returns ErrNotThere and f is not run. After f, failed or not, the node is read again, so that Observations show what f did.
//
// A connection is one process, so f's commands reach the process meant or none. A command whose answer did not come may
// have been carried out, or be carried out later by a process that was stopped.
func (m *Monitor) Do(ctx context.Context, uid types.UID, runID string, f func(ctx context.Context, n *redis.Node) error) error {
	w := m.watcher(uid)
	if w == nil {
		return ErrNotThere
	}
	node := w.process(runID)
	if node == nil {
		return ErrNotThere
	}
	err := f(ctx, node)
	readErr := w.read(ctx, node)
	if err == nil && readErr != nil {
		return fmt.Errorf("read the node after a change: %w", readErr)
	}
	return err
}

// process is the standing connection, if it leads to the process with this run id.
func (w *watcher) process(runID string) *redis.Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.node == nil || runID == "" || w.obs.Redis.RunID != runID {
		return nil
	}
	select {
	case <-w.node.Broken():
		return nil
	default:
		return w.node
	}
}

// NoteAccess keeps the hash of the access rules that were set on this process. It is forgotten with the process.
func (m *Monitor) NoteAccess(uid types.UID, runID, hash string) {
	m.note(uid, runID, func(o *Observation) { o.AccessHash = hash })
}

// NoteReplication keeps the generation of the replication password that was set on this process, and that this was now. It is
// forgotten with the process.
func (m *Monitor) NoteReplication(uid types.UID, runID string, generation int64) {
	m.note(uid, runID, func(o *Observation) { o.ReplicationGeneration, o.AttachedAt = generation, time.Now() })
}

// NoteHeld keeps that this process' writes are paused from now on, since another node is to be the primary; or that they are not.
// It is forgotten with the process, and when it becomes a primary anew.
func (m *Monitor) NoteHeld(uid types.UID, runID string, held bool) {
	m.note(uid, runID, func(o *Observation) {
		switch {
		case !held:
			o.DemotedAt = time.Time{}
		case o.DemotedAt.IsZero():
			o.DemotedAt = time.Now()
		}
	})
}

// NoteOperatorGeneration keeps that this process' password is of another generation since the standing connection logged in: the
// connection counts as one of that generation, and the next one tries it first. The login need not be known to Watch yet.
func (m *Monitor) NoteOperatorGeneration(uid types.UID, runID string, generation int64) {
	m.note(uid, runID, func(o *Observation) { o.OperatorGeneration = generation })
}

func (m *Monitor) note(uid types.UID, runID string, enter func(*Observation)) {
	w := m.watcher(uid)
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if runID != "" && w.obs.Redis.RunID == runID {
		enter(&w.obs)
	}
}
