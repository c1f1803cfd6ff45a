package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// informers are an operator's cache: what the API server had some time ago, kind by kind.
type informers struct {
	operator *operator
	lag      time.Duration
	// stalled is until when nothing arrives.
	stalled time.Time
	kinds   map[string]*informer
}

type informer struct {
	next    int
	objects map[string]client.Object
}

// newInformers begin with what the API server has now.
func newInformers(op *operator) *informers {
	in := &informers{operator: op, lag: op.world.between(time.Millisecond, 15*time.Millisecond), kinds: map[string]*informer{}}
	s := op.world.store
	for _, kind := range []string{
		"RedisCluster", "Pod", "Service", "Secret", "ConfigMap", "Deployment", "PodDisruptionBudget", "EndpointSlice", "Node",
	} {
		known := &informer{next: len(s.log[kind]), objects: map[string]client.Object{}}
		for _, o := range s.list(kind) {
			known.objects[o.GetName()] = o
		}
		in.kinds[kind] = known
	}
	return in
}

// expect wakes the operator when a change that was just made arrives.
func (in *informers) expect(kind string) {
	if in.kinds[kind] == nil {
		return
	}
	wait := max(in.lag, time.Until(in.stalled))
	in.operator.world.later(wait+in.operator.world.between(1, time.Millisecond), in.operator.wake)
}

// catchUp takes what has arrived by now.
func (in *informers) catchUp(kind string) *informer {
	known, log := in.kinds[kind], in.operator.world.store.log[kind]
	if time.Now().Before(in.stalled) || !in.operator.world.network.connected(in.operator.name, api) {
		return known
	}
	for ; known.next < len(log) && time.Since(log[known.next].at) >= in.lag; known.next++ {
		c := log[known.next]
		if c.object == nil {
			if pod, is := known.objects[c.name].(*corev1.Pod); is {
				in.operator.reconciler.Observer.PodGone(pod)
			}
			delete(known.objects, c.name)
			in.operator.forget(c.uid)
			continue
		}
		if old := known.objects[c.name]; old != nil && old.GetUID() != c.uid {
			in.operator.forget(old.GetUID())
		}
		known.objects[c.name] = c.object
	}
	return known
}

// Get implements client.Reader.
func (in *informers) Get(_ context.Context, k client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	w := in.operator.world
	w.Lock()
	defer w.Unlock()
	kind := kindOf(into)
	found := in.catchUp(kind).objects[k.Name]
	if found == nil {
		return notFound(kind, k.Name)
	}
	return fill(into, found)
}

// List implements client.Reader.
func (in *informers) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	w := in.operator.world
	w.Lock()
	defer w.Unlock()
	kind := strings.TrimSuffix(kindOfList(list), "List")
	var with client.ListOptions
	with.ApplyOptions(options)
	var found []client.Object
	for _, o := range in.catchUp(kind).objects {
		if with.LabelSelector == nil || with.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return fillList(list, found)
}

func kindOfList(list client.ObjectList) string {
	if partial, is := list.(*metav1.PartialObjectMetadataList); is {
		return partial.Kind
	}
	name := fmt.Sprintf("%T", list)
	return name[strings.LastIndex(name, ".")+1:]
}

func fillList(list client.ObjectList, found []client.Object) error {
	for _, o := range found {
		switch list := list.(type) {
		case *corev1.PodList:
			list.Items = append(list.Items, *o.(*corev1.Pod))
		case *corev1.NodeList:
			list.Items = append(list.Items, *o.(*corev1.Node))
		case *appsv1.DeploymentList:
			list.Items = append(list.Items, *o.(*appsv1.Deployment))
		case *corev1.ServiceList:
			list.Items = append(list.Items, *o.(*corev1.Service))
		case *corev1.ConfigMapList:
			list.Items = append(list.Items, *o.(*corev1.ConfigMap))
		case *policyv1.PodDisruptionBudgetList:
			list.Items = append(list.Items, *o.(*policyv1.PodDisruptionBudget))
		case *discoveryv1.EndpointSliceList:
			list.Items = append(list.Items, *o.(*discoveryv1.EndpointSlice))
		case *cachev1.RedisClusterList:
			list.Items = append(list.Items, *o.(*cachev1.RedisCluster))
		case *metav1.PartialObjectMetadataList:
			var item metav1.PartialObjectMetadata
			if err := fill(&item, o); err != nil {
				return err
			}
			list.Items = append(list.Items, item)
		default:
			return fmt.Errorf("sim: no list for %T", list)
		}
	}
	return nil
}

func notFound(kind, name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, name)
}

func conflict(kind, name, why string) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: kind}, name, fmt.Errorf("%s", why))
}
