package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/act"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/observe"
	"example.com/redis-operator/internal/redis"
)

// wakesRoom is how many wake-ups of the monitor may wait. The channel's reader only puts them into the work queue, which
// keeps one for each resource.
const wakesRoom = 1024

// Wire builds the loop around a manager and registers it there. Everything that it remembers is its own: a process may hold
// several, as tests do to see one operator end and another begin.
func Wire(mgr ctrl.Manager, dial redis.Dialer, registry prometheus.Registerer, workers int) error {
	wakes := make(chan event.GenericEvent, wakesRoom)
	nodes := monitor.New(dial, func(owner types.NamespacedName) {
		resource := &cachev1.RedisCluster{}
		resource.Namespace, resource.Name = owner.Namespace, owner.Name
		wakes <- event.GenericEvent{Object: resource}
	}, mgr.GetLogger().WithName("monitor"))
	if err := mgr.Add(closing{nodes}); err != nil {
		return fmt.Errorf("registering the monitor: %w", err)
	}
	seeds := credentials.NewStore()
	written, applied := expectations.NewStore(time.Now), expectations.NewApplied()
	own := NewMetrics(registry)
	reconciler := &Reconciler{
		Observer: &observe.Observer{
			Cache: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: nodes,
			Written: written, Applied: applied, Credentials: seeds, Now: time.Now,
		},
		Actor: &act.Actor{
			Writer: mgr.GetClient(), Live: mgr.GetAPIReader(), Nodes: nodes,
			Written: written, Applied: applied, Credentials: seeds, Ended: own.StepEnded,
		},
		Recorder: mgr.GetEventRecorder("redis-operator"),
		Metrics:  own,
		Now:      time.Now,
		Leads:    mgr.Elected(),
	}
	// The controller makes this informer too, but perhaps later than this operator begins to lead.
	if _, err := mgr.GetCache().GetInformer(context.Background(), &cachev1.RedisCluster{}, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("watching the resources: %w", err)
	}
	if err := mgr.Add(takingOver{mgr.GetClient(), wakes}); err != nil {
		return fmt.Errorf("registering the start of leading: %w", err)
	}
	if err := reconciler.SetupWithManager(mgr, wakes, workers); err != nil {
		return fmt.Errorf("registering the controller: %w", err)
	}
	return nil
}

// takingOver has every resource looked at once this operator leads. It runs when that begins.
type takingOver struct {
	cache client.Reader
	wakes chan<- event.GenericEvent
}

// Start implements manager.Runnable.
func (t takingOver) Start(ctx context.Context) error {
	var all cachev1.RedisClusterList
	if err := t.cache.List(ctx, &all); err != nil {
		return fmt.Errorf("listing the resources: %w", err)
	}
	for i := range all.Items {
		select {
		case t.wakes <- event.GenericEvent{Object: &all.Items[i]}:
		case <-ctx.Done():
		}
	}
	return nil
}

// closing ends the monitor's connections when the manager ends.
type closing struct{ nodes *monitor.Monitor }

// Start implements manager.Runnable.
func (c closing) Start(ctx context.Context) error {
	<-ctx.Done()
	c.nodes.Close()
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: looking needs no leadership.
func (closing) NeedLeaderElection() bool { return false }
