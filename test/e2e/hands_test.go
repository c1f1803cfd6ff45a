//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owned are the objects of a resource named r.
func (p *place) owned() []client.Object {
	return []client.Object{
		&appsv1.Deployment{ObjectMeta: at(p.name, "r")},
		&corev1.Service{ObjectMeta: at(p.name, "r")},
		&corev1.Service{ObjectMeta: at(p.name, "r-replicas")},
		&corev1.Service{ObjectMeta: at(p.name, "r-primary")},
		&corev1.Service{ObjectMeta: at(p.name, "r-nodes")},
		&corev1.ConfigMap{ObjectMeta: at(p.name, "r-config")},
		&corev1.Secret{ObjectMeta: at(p.name, "r-users")},
		&policyv1.PodDisruptionBudget{ObjectMeta: at(p.name, "r")},
		&discoveryv1.EndpointSlice{ObjectMeta: at(p.name, "r-primary-endpoint")},
	}
}

// TestHandEdits: what somebody changes in an object of a resource is put right.
func TestHandEdits(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.started(p.redis("r", 2))
	replica := p.pod(p.replicasOf(r)[0])
	processes := p.processes("r")
	for _, edit := range []struct {
		what    string
		object  client.Object
		patch   string
		righted func(o client.Object) bool
	}{
		{
			"the Service's port", &corev1.Service{ObjectMeta: at(p.name, "r")}, `[{"op":"replace","path":"/spec/ports/0/port","value":7000}]`,
			func(o client.Object) bool {
				s := o.(*corev1.Service)
				return len(s.Spec.Ports) == 1 && s.Spec.Ports[0].Port == 6379
			},
		},
		{
			"the Service's selector", &corev1.Service{ObjectMeta: at(p.name, "r-replicas")},
			`[{"op":"replace","path":"/spec/selector/cache.example.com~1role","value":"primary"}]`,
			func(o client.Object) bool {
				return o.(*corev1.Service).Spec.Selector["cache.example.com/role"] == "replica"
			},
		},
		{
			"the Deployment's replicas", &appsv1.Deployment{ObjectMeta: at(p.name, "r")}, `[{"op":"replace","path":"/spec/replicas","value":3}]`,
			func(o client.Object) bool { return ptr.Deref(o.(*appsv1.Deployment).Spec.Replicas, 0) == 2 },
		},
		{
			"the EndpointSlice's endpoint", &discoveryv1.EndpointSlice{ObjectMeta: at(p.name, "r-primary-endpoint")},
			fmt.Sprintf(`[{"op":"replace","path":"/endpoints/0/addresses/0","value":%q}]`, replica.Status.PodIP),
			func(o client.Object) bool {
				s := o.(*discoveryv1.EndpointSlice)
				return len(s.Endpoints) == 1 && s.Endpoints[0].Addresses[0] != replica.Status.PodIP
			},
		},
		{
			"the configuration", &corev1.ConfigMap{ObjectMeta: at(p.name, "r-config")}, `[{"op":"replace","path":"/data/redis.conf","value":"port 1"}]`,
			func(o client.Object) bool { return o.(*corev1.ConfigMap).Data["redis.conf"] != "port 1" },
		},
		{
			"the disruption budget", &policyv1.PodDisruptionBudget{ObjectMeta: at(p.name, "r")}, `[{"op":"replace","path":"/spec/maxUnavailable","value":2}]`,
			func(o client.Object) bool {
				return o.(*policyv1.PodDisruptionBudget).Spec.MaxUnavailable.IntValue() == 1
			},
		},
	} {
		require.NoError(t, kube.Patch(t.Context(), edit.object, client.RawPatch(types.JSONPatchType, []byte(edit.patch))), edit.what)
		await(t, edit.what+" is put right", settling, func(ctx context.Context) error {
			if err := kube.Get(ctx, client.ObjectKeyFromObject(edit.object), edit.object); err != nil {
				return err
			}
			if !edit.righted(edit.object) {
				return errors.New("it is as it was edited")
			}
			return nil
		})
	}
	p.awaitRunning("r")
	require.Equal(t, processes, p.processes("r"))
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
}

// TestDeletedObjects: what somebody deletes of a resource is made again; the data stays, unless it was the pods' own Deployment.
func TestDeletedObjects(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.started(p.redis("r", 2))
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
	processes := p.processes("r")
	var workload client.Object
	for _, object := range p.owned() {
		if _, isWorkload := object.(*appsv1.Deployment); isWorkload {
			workload = object
			continue
		}
		p.deletedComesBack(object)
	}
	p.awaitRunning("r")
	require.Equal(t, processes, p.processes("r"))
	p.awaitAnswer(p.service("r", ""), "v", "GET", "k")
	p.onePrimary("r", "")
	p.deletedComesBack(workload)
	p.awaitRunning("r")
	p.awaitAnswer(p.service("r", ""), "OK", "SET", "k", "v")
}

func (p *place) deletedComesBack(object client.Object) {
	p.t.Helper()
	require.NoError(p.t, kube.Get(p.t.Context(), client.ObjectKeyFromObject(object), object))
	uid := object.GetUID()
	p.delete(object)
	await(p.t, fmt.Sprintf("%T %s is made again", object, object.GetName()), settling, func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if object.GetUID() == uid {
			return errors.New("it is still the old one")
		}
		return nil
	})
}

// TestUnrelatedMarks: labels and annotations of somebody else's, on the resource and on all that belongs to it, stay and move
// nothing: each object is looked at once, and then there is rest.
func TestUnrelatedMarks(t *testing.T) {
	t.Parallel()
	log := auditFromNow(t)
	p := newPlace(t)
	r := p.started(p.redis("r", 2))
	log.awaitQuietIn(p.name)
	processes := p.processes("r")
	log = auditFromNow(t)
	marked := append(p.owned(), r)
	for _, pod := range p.pods("r") {
		marked = append(marked, &pod)
	}
	for _, object := range marked {
		patch := `{"metadata":{"labels":{"theirs.example.com/l":"1"},"annotations":{"theirs.example.com/a":"1"}}}`
		require.NoError(t, kube.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	log.awaitQuietIn(p.name)
	writes := map[string]int{}
	for _, one := range in(p.name, log.ofOperator()) {
		if one.changes() {
			writes[one.ObjectRef.Resource+" "+one.ObjectRef.Name]++
		}
	}
	for what, count := range writes {
		most := 1
		if what == "redisclusters r" {
			most = 2 // a readiness probe that is late on a busy machine shows in the status, and passes
		}
		require.LessOrEqual(t, count, most, "writes of %s after it was marked", what)
	}
	for _, object := range marked {
		require.NoError(t, kube.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		require.Equal(t, "1", object.GetLabels()["theirs.example.com/l"], "%T %s", object, object.GetName())
		require.Equal(t, "1", object.GetAnnotations()["theirs.example.com/a"], "%T %s", object, object.GetName())
	}
	require.Equal(t, processes, p.processes("r"))
	require.NoError(t, runs(p.get("r")))
}
