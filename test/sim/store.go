package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
)

// objectKey names an object; all are in one namespace, or in none.
type objectKey struct{ kind, name string }

// change is one line of what informers get to know. The object is nil where it was removed.
type change struct {
	at     time.Time
	name   string
	uid    types.UID
	object client.Object
}

// store is the API server's. Objects in it are never changed, only replaced.
type store struct {
	world   *world
	version int64
	objects map[objectKey]client.Object
	log     map[string][]change
	// writes counts what operators changed or tried to; lastWrite tells of the last one, lastPut what it was about.
	writes             int
	lastWrite, lastPut string
}

func newStore(w *world) *store {
	return &store{world: w, objects: map[objectKey]client.Object{}, log: map[string][]change{}}
}

func kindOf(o runtime.Object) string {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		return o.Kind
	case *cachev1.RedisCluster:
		return "RedisCluster"
	case *corev1.Pod:
		return "Pod"
	case *corev1.Node:
		return "Node"
	case *coordinationv1.Lease:
		return "Lease"
	case *corev1.Service:
		return "Service"
	case *corev1.Secret:
		return "Secret"
	case *corev1.ConfigMap:
		return "ConfigMap"
	case *appsv1.Deployment:
		return "Deployment"
	case *policyv1.PodDisruptionBudget:
		return "PodDisruptionBudget"
	case *discoveryv1.EndpointSlice:
		return "EndpointSlice"
	}
	panic(fmt.Sprintf("sim: no kind for %T", o))
}

func keyOf(o client.Object) objectKey { return objectKey{kindOf(o), o.GetName()} }

func (s *store) get(k objectKey) client.Object {
	if k.kind == "Lease" {
		if lease := s.world.leaseOf(k.name); lease != nil {
			return lease
		}
		return nil
	}
	return s.objects[k]
}

func (s *store) resource() *cachev1.RedisCluster {
	r, _ := s.get(objectKey{"RedisCluster", key.Name}).(*cachev1.RedisCluster)
	return r
}

// list is all objects of a kind, by name.
func (s *store) list(kind string) []client.Object {
	var found []client.Object
	for k, o := range s.objects {
		if k.kind == kind {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) })
	return found
}

// put makes an object what it is to be, and returns it as it then is. A write that changes nothing is none, as in a real one.
func (s *store) put(o client.Object) client.Object {
	old := s.objects[keyOf(o)]
	s.lastPut = kindOf(o) + " " + o.GetName()
	if old == nil {
		if o.GetUID() == "" {
			o.SetUID(types.UID(fmt.Sprintf("uid-%d", s.world.number())))
		}
		o.SetCreationTimestamp(metav1.Time{Time: time.Now().Truncate(time.Second)})
		o.SetGeneration(generationOf(nil, o))
	} else {
		o.SetResourceVersion(old.GetResourceVersion())
		o.SetGeneration(old.GetGeneration())
		if equality.Semantic.DeepEqual(old, o) {
			return old
		}
		o.SetGeneration(generationOf(old, o))
	}
	s.version++
	o.SetResourceVersion(strconv.FormatInt(s.version, 10))
	s.objects[keyOf(o)] = o
	s.logged(o, o)
	if endpointsChanged(old, o) {
		s.world.serviceChanged()
	}
	s.world.checkSlice(o)
	s.world.checkGate(old, o)
	if r, is := o.(*cachev1.RedisCluster); is {
		s.world.checkClaim(old, r)
	}
	return o
}

// generationOf counts the changes of what is neither metadata nor status, where Kubernetes does.
func generationOf(old, o client.Object) int64 {
	var changed bool
	switch o := o.(type) {
	case *cachev1.RedisCluster:
		before, is := old.(*cachev1.RedisCluster)
		changed = is && !equality.Semantic.DeepEqual(before.Spec, o.Spec)
	case *appsv1.Deployment:
		before, is := old.(*appsv1.Deployment)
		changed = is && !equality.Semantic.DeepEqual(before.Spec, o.Spec)
	case *policyv1.PodDisruptionBudget:
		before, is := old.(*policyv1.PodDisruptionBudget)
		changed = is && !equality.Semantic.DeepEqual(before.Spec, o.Spec)
	case *discoveryv1.EndpointSlice:
		before, is := old.(*discoveryv1.EndpointSlice)
		changed = is && !(equality.Semantic.DeepEqual(before.Endpoints, o.Endpoints) && equality.Semantic.DeepEqual(before.Ports, o.Ports))
	default:
		return 0
	}
	if old == nil {
		return 1
	}
	return old.GetGeneration() + int64(number(changed))
}

func contentOf(o client.Object) map[string]any {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err)
	}
	return content
}

func (s *store) remove(o client.Object) {
	delete(s.objects, keyOf(o))
	s.version++
	s.logged(o, nil)
}

func (s *store) logged(o, now client.Object) {
	kind := kindOf(o)
	s.log[kind] = append(s.log[kind], change{at: time.Now(), name: o.GetName(), uid: o.GetUID(), object: now})
	for _, op := range s.world.operators {
		op.informers.expect(kind)
	}
}

// setting is the last line of redis.conf that sets something; empty where there is none.
func (s *store) setting(name string) (value string) {
	config, _ := s.get(objectKey{"ConfigMap", resources.ConfigMapName(key.Name)}).(*corev1.ConfigMap)
	if config == nil {
		return ""
	}
	for line := range strings.Lines(config.Data["redis.conf"]) {
		if key, rest, _ := strings.Cut(strings.TrimSpace(line), " "); key == name {
			value = rest
		}
	}
	return value
}

// primaryAddress is where the Service leads to; empty where it leads nowhere.
func (s *store) primaryAddress() string {
	slice, _ := s.get(objectKey{"EndpointSlice", resources.PrimarySliceName(key.Name)}).(*discoveryv1.EndpointSlice)
	if slice == nil || len(slice.Endpoints) == 0 {
		return ""
	}
	return slice.Endpoints[0].Addresses[0]
}
