// Package act carries plans out. It decides nothing: every action checks on the live target that the world still is as the plan
// took it to be, and says so if not. Every action may be repeated, left half done, or raced by a second operator.
package act

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

// fieldManager names the operator in the managed fields of objects.
const fieldManager = "redis-operator"

// stepTimeout bounds one step. It is shorter than the lease's renew deadline, so that a leader that lost its lease does not
// finish old commands late.
const stepTimeout = 3 * time.Second

// Nodes is the part of the monitor that act needs.
type Nodes interface {
	// Do runs commands on the standing connection of a process, and reads the node again. It fails with monitor.ErrNotThere
	// if the pod's Redis is not, or no longer, the process with that run id.
	Do(ctx context.Context, uid types.UID, runID string, f func(ctx context.Context, n *redis.Node) error) error
	NoteAccess(uid types.UID, runID, hash string)
	NoteReplication(uid types.UID, runID string, generation int64)
	NoteOperatorGeneration(uid types.UID, runID string, generation int64)
	NoteHeld(uid types.UID, runID string, held bool)
	Observations(owner types.NamespacedName) map[types.UID]monitor.Observation
}

// Actor carries plans out.
type Actor struct {
	// Writer writes to the API server; Live reads from it without a cache.
	Writer      client.Client
	Live        client.Reader
	Nodes       Nodes
	Written     *expectations.Store
	Applied     *expectations.Applied
	Credentials *credentials.Store
	// Ended is told of every step that ended; it may be nil.
	Ended func(resource types.NamespacedName, step plan.StepOutcome)

	doubts doubts
}

// subject is the resource that a plan is carried out for.
type subject struct {
	resource *cachev1.RedisCluster
	snapshot *state.Snapshot
}

// notNowError marks an outcome that a new look will sort out: the live target differs from what the plan was made for.
type notNowError struct{ note string }

func (e notNowError) Error() string { return e.note }

func notNow(format string, args ...any) error { return notNowError{fmt.Sprintf(format, args...)} }

// errAlready marks that the world already was as wanted.
var errAlready = errors.New("already so")

// Act carries out the lanes one after the other, safety first. A lane stops at its first step that does not succeed.
func (a *Actor) Act(ctx context.Context, resource *cachev1.RedisCluster, s *state.Snapshot, p *plan.Plan) plan.Outcome {
	var outcome plan.Outcome
	on := &subject{resource, s} // one for all steps: what one writes into the claim, the next ones check
	for name, lane := range p.Lanes {
		for _, step := range lane.Steps {
			result := a.step(ctx, on, plan.LaneName(name), step)
			outcome.Steps = append(outcome.Steps, result)
			if result.Result == plan.NotNow || result.Result == plan.Failed {
				break
			}
		}
	}
	return outcome
}

func (a *Actor) step(ctx context.Context, on *subject, lane plan.LaneName, step plan.Step) plan.StepOutcome {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	started := time.Now()
	var err error
	if lane == plan.Safety {
		err = a.settle(ctx, on)
	}
	if err == nil {
		err = a.do(ctx, on, step.Action)
	}
	result := plan.StepOutcome{Lane: lane, Step: step, Took: time.Since(started)}
	var later notNowError
	switch {
	case err == nil:
		result.Result = plan.Done
		logr.FromContextOrDiscard(ctx).Info(step.Action.String(), "lane", lane.String(), "why", step.Why.Code, "because", step.Why.Message)
	case errors.Is(err, errAlready):
		result.Result = plan.Already
	case errors.As(err, &later):
		result.Result, result.Note = plan.NotNow, later.note
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		result.Result, result.Note = plan.NotNow, err.Error()
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		result.Result, result.Note, result.Lasting = plan.NotNow, err.Error(), true // what is there goes; nothing is to be made
	default:
		result.Result, result.Err = plan.Failed, err
	}
	if a.Ended != nil {
		a.Ended(on.snapshot.Want.Key, result)
	}
	return result
}

// do finds the code of an action.
func (a *Actor) do(ctx context.Context, on *subject, action plan.Action) error {
	switch action := action.(type) {
	case plan.CreateSeed:
		return a.createSeed(ctx, on)
	case plan.Apply:
		return a.apply(ctx, on, action)
	case plan.Delete:
		return a.delete(ctx, on, action)
	case plan.PointService:
		return a.pointService(ctx, on, action)
	case plan.PatchPod:
		return a.patchPod(ctx, on, action)
	case plan.SetGate:
		return a.setGate(ctx, on, action)
	case plan.ForgetSwitchover:
		return a.forgetSwitchover(ctx, on, action)
	case plan.WriteClaim, plan.TakeOver, plan.RecordAttached, plan.RecordQuorum, plan.RecordHistory, plan.Leave:
		return a.doClaim(ctx, on, action)
	}
	return a.doNode(ctx, on, action)
}

// doClaim finds the code of an action that writes the claim.
func (a *Actor) doClaim(ctx context.Context, on *subject, action plan.Action) error {
	switch action := action.(type) {
	case plan.WriteClaim:
		return a.writeClaim(ctx, on, action)
	case plan.TakeOver:
		return a.takeOver(ctx, on, action)
	case plan.RecordAttached:
		return a.recordAttached(ctx, on, action)
	case plan.RecordQuorum:
		return a.recordQuorum(ctx, on, action)
	case plan.RecordHistory:
		return a.recordHistory(ctx, on, action)
	case plan.Leave:
		return a.leave(ctx, on, action)
	}
	return fmt.Errorf("no code for action %T", action)
}

// doNode finds the code of an action on a node's Redis.
func (a *Actor) doNode(ctx context.Context, on *subject, action plan.Action) error {
	switch action := action.(type) {
	case plan.SetOperatorPassword:
		return a.setOperatorPassword(ctx, on, action)
	case plan.Freeze:
		return a.freeze(ctx, action)
	case plan.Demote:
		return a.demote(ctx, action)
	case plan.HandOver:
		return a.handOver(ctx, on, action)
	case plan.Resume:
		return a.resume(ctx, on, action)
	case plan.Promote:
		return a.promote(ctx, on, action)
	case plan.OpenReplication:
		return a.openReplication(ctx, on, action)
	case plan.SetQuorum:
		return a.setQuorum(ctx, on, action)
	case plan.Attach:
		return a.attach(ctx, on, action)
	case plan.CloseReplicas:
		return a.closeReplicas(ctx, action)
	case plan.CloseClients:
		return a.closeClients(ctx, on, action)
	case plan.SetAccess:
		return a.setAccess(ctx, action)
	}
	return fmt.Errorf("no code for action %T", action)
}
