// Package controller wires the loop to Kubernetes: what wakes it, and the verbs in order. It holds no rule of its own.
package controller

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/act"
	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/observe"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/state"
)

const (
	// maxRounds bounds how often one reconcile looks again after it changed something. A failover takes two: freeze, then promote.
	maxRounds = 5
	// soon is when to look again if the world still moved after the last round.
	soon = 50 * time.Millisecond
)

// Reconciler keeps RedisClusters true.
type Reconciler struct {
	Observer *observe.Observer
	Actor    *act.Actor
	Recorder events.EventRecorder
	Metrics  *Metrics
	Now      func() time.Time
	// Leads is closed once this operator may act; until then it only looks, so that it knows all nodes when it takes over.
	Leads <-chan struct{}
}

// leads tells whether this operator may act.
func (r *Reconciler) leads() bool {
	select {
	case <-r.Leads:
		return true
	default:
		return false
	}
}

// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile looks, decides and acts until nothing is left to do, then reports.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if !r.leads() {
		_, _, err := r.Observer.Observe(ctx, request.NamespacedName)
		return ctrl.Result{}, err
	}
	var p plan.Plan
	var done plan.Outcome
	for range maxRounds {
		resource, snapshot, err := r.Observer.Observe(ctx, request.NamespacedName)
		if err != nil {
			return ctrl.Result{}, err
		}
		if resource == nil {
			r.Metrics.forget(request.NamespacedName)
			r.Actor.Release(ctx, r.Observer.Left(ctx, request.NamespacedName))
			return ctrl.Result{}, nil
		}
		p = decide.Decide(snapshot, r.Now())
		outcome := r.Actor.Act(ctx, resource, snapshot, &p)
		done.Steps = append(done.Steps, outcome.Steps...)
		if !outcome.Changed() {
			return r.report(ctx, resource, snapshot, &p, &done)
		}
	}
	resource, snapshot, err := r.Observer.Observe(ctx, request.NamespacedName)
	if err != nil || resource == nil {
		return ctrl.Result{}, err
	}
	p.WakeWithin(soon)
	return r.report(ctx, resource, snapshot, &p, &done)
}

// report writes the status if it differs, then tells the events, and says when to look again.
func (r *Reconciler) report(ctx context.Context, resource *cachev1.RedisCluster, s *state.Snapshot, p *plan.Plan, done *plan.Outcome) (ctrl.Result, error) {
	in := report.Input{Snapshot: s, Plan: p, Outcome: done, Old: resource.Status, Now: r.Now()}
	status := report.Status(in)
	if err := r.Actor.WriteStatus(ctx, resource, status); err != nil {
		return ctrl.Result{}, err
	}
	for _, event := range report.Events(in, status) {
		r.Recorder.Eventf(resource, nil, event.Type(), event.Reason, eventAction(event), "%s", event.Message)
		r.Metrics.changed(client.ObjectKeyFromObject(resource), event)
	}
	r.Metrics.observe(client.ObjectKeyFromObject(resource), s, status.Phase)
	if err := done.Err(); err != nil {
		return ctrl.Result{}, err // tried again with growing pauses
	}
	return ctrl.Result{RequeueAfter: p.Wake}, nil
}

// eventAction is what Kubernetes' events call the action; it follows from the text. Within six minutes client-go takes an event
// about the same object with the same reason and action for a repetition, whatever its text says, and only counts it: the second
// failover in five minutes would never be told. So each text is told once, and counted while it is repeated or alternates.
func eventAction(event report.Event) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(event.Message))
	return fmt.Sprintf("Reconcile-%08x", sum.Sum32())
}
