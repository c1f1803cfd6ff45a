// Package observe gathers what is known of a resource into one snapshot of plain values: from the informer cache, from the
// monitor's memory of the nodes, and from the operator's own writes that the cache does not show yet.
//
// It judges nothing. In a steady state it reaches nothing but memory: the API server is asked only for the content of a Secret
// whose version is new, and for the machine of a primary whose pod is gone.
package observe

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/state"
)

// Nodes is the part of the monitor that observe needs.
type Nodes interface {
	Watch(owner types.NamespacedName, targets []monitor.Target)
	Forget(owner types.NamespacedName)
	Observations(owner types.NamespacedName) map[types.UID]monitor.Observation
}

// Observer makes snapshots.
type Observer struct {
	// Cache reads from the informers; Live asks the API server itself.
	Cache       client.Reader
	Live        client.Reader
	Nodes       Nodes
	Written     *expectations.Store
	Applied     *expectations.Applied
	Credentials *credentials.Store
	Now         func() time.Time

	mu     sync.Mutex
	memory map[types.NamespacedName]*memory
	// endings are the pods that had ended when they went, and when that was.
	endings map[types.UID]time.Time
}

// memory is what is kept of one resource between two looks.
type memory struct {
	uid types.UID
	// passwordHash is of the Secret's content at passwordVersion (UID, version and key).
	passwordHash    string
	passwordVersion string
	// last has the nodes of the look before, to know how a pod was when it disappeared; departed those that did.
	last     map[types.UID]state.Node
	departed map[types.UID]state.Departed
	// ended is the claimed process that was last seen to have ended.
	ended string
	// overtakenBy is the generation by which another operator took over after this one, seen at overtakenAt; 0 for none.
	overtakenBy int64
	overtakenAt time.Time
}

// Observe makes a snapshot. The resource is nil where it does not exist; then everything about it is forgotten, once its last pod
// is gone.
func (o *Observer) Observe(ctx context.Context, key types.NamespacedName) (*cachev1.RedisCluster, *state.Snapshot, error) {
	var cached cachev1.RedisCluster
	if err := o.Cache.Get(ctx, key, &cached); err != nil {
		if apierrors.IsNotFound(err) {
			if o.Left(ctx, key) == nil {
				o.forget(key)
			}
			return nil, nil, nil
		}
		return nil, nil, fmt.Errorf("reading RedisCluster %s: %w", key, err)
	}
	resource := expectations.Newest(o.Written, &cached)
	m := o.remembered(key, resource.UID)

	s := &state.Snapshot{Claim: resource.Status.Claim.DeepCopy(), Want: wantOf(resource)}
	o.leadership(s, m)
	if err := o.objects(ctx, s); err != nil {
		return nil, nil, err
	}
	if err := o.access(ctx, s, m); err != nil {
		return nil, nil, err
	}
	if err := o.nodes(ctx, s, m); err != nil {
		return nil, nil, err
	}
	return resource, s, nil
}

// leadership fills in whether it was this operator that last took the resource over, or another one after it.
func (o *Observer) leadership(s *state.Snapshot, m *memory) {
	s.TakenOver = s.Claim == nil || o.Credentials.HasTakenOver(s.Want.UID, s.Claim.OperatorGeneration)
	switch {
	case s.TakenOver || !o.Credentials.WasOvertaken(s.Want.UID, s.Claim.OperatorGeneration):
		m.overtakenBy = 0
	case m.overtakenBy != s.Claim.OperatorGeneration:
		m.overtakenBy, m.overtakenAt = s.Claim.OperatorGeneration, o.Now()
	}
	if m.overtakenBy != 0 {
		s.OvertakenAt = m.overtakenAt
	}
}

// wantOf is what the user asked for, as plain values.
func wantOf(r *cachev1.RedisCluster) state.Want {
	return state.Want{
		Key:           client.ObjectKeyFromObject(r),
		UID:           r.UID,
		Generation:    r.Generation,
		Created:       r.CreationTimestamp.Time,
		Spec:          *r.Spec.DeepCopy(),
		Deleting:      !r.DeletionTimestamp.IsZero(),
		ConfirmedDead: r.Annotations[cachev1.AnnotationConfirmDead],
		SwitchoverTo:  r.Annotations[cachev1.AnnotationSwitchover],
	}
}

// remembered is the memory of a resource; one of the same name that was made anew starts without.
func (o *Observer) remembered(key types.NamespacedName, uid types.UID) *memory {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.memory == nil {
		o.memory = map[types.NamespacedName]*memory{}
	}
	m := o.memory[key]
	if m == nil || m.uid != uid {
		m = &memory{uid: uid, last: map[types.UID]state.Node{}, departed: map[types.UID]state.Departed{}}
		o.memory[key] = m
	}
	return m
}

func (o *Observer) forget(key types.NamespacedName) {
	o.Nodes.Forget(key)
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.memory[key]; m != nil {
		o.Credentials.Forget(m.uid)
		o.Written.Forget(m.uid)
		delete(o.memory, key)
	}
}

// machine asks what Kubernetes says of a machine. Not being allowed to ask is the same as not knowing.
func (o *Observer) machine(ctx context.Context, name string) state.NodeHealth {
	var node corev1.Node
	if err := o.Live.Get(ctx, types.NamespacedName{Name: name}, &node); err != nil {
		if apierrors.IsNotFound(err) {
			return state.NodeHealthGone
		}
		return state.NodeHealthUnknown
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key == corev1.TaintNodeOutOfService {
			return state.NodeHealthGone
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return state.NodeHealthReady
		}
	}
	return state.NodeHealthUnknown
}
