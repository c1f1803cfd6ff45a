//go:build e2e

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestNeighbours: resources of one name in two namespaces, and two in one namespace, leave each other alone, whatever is done
// to one of them.
func TestNeighbours(t *testing.T) {
	t.Parallel()
	here, there := newPlace(t), newPlace(t)
	places := []struct {
		p    *place
		name string
	}{{here, "a"}, {here, "b"}, {there, "a"}}
	for i, one := range places {
		r := one.p.redis(one.name, 2)
		r.Spec.Password = string(rune('x' + i))
		one.p.create(r)
	}
	var processes []map[string]string
	for i, one := range places {
		one.p.awaitRunning(one.name)
		one.p.answers(one.p.service(one.name, string(rune('x'+i))), "OK", "SET", "whose", string(rune('x'+i)))
		processes = append(processes, one.p.processes(one.name))
	}
	untouched := func(which ...int) {
		t.Helper()
		for _, i := range which {
			one := places[i]
			one.p.awaitRunning(one.name)
			require.Equal(t, processes[i], one.p.processes(one.name))
			one.p.answers(one.p.service(one.name, string(rune('x'+i))), string(rune('x'+i)), "GET", "whose")
		}
	}
	untouched(0, 1, 2)
	here.resize("a", 4)
	here.awaitRunning("a")
	untouched(1, 2)
	here.resize("a", 1)
	here.awaitRunning("a")
	untouched(1, 2)
	here.delete(here.get("a"))
	here.gone(here.redis("a", 0))
	untouched(1, 2)
}

// TestForeignObject: an object of somebody else's that has a name of ours is not touched; the resource says so, and goes on
// when it is out of the way.
func TestForeignObject(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"app": "theirs"}
	port := []corev1.ServicePort{{Port: 80}}
	for _, foreign := range []client.Object{
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "r-replicas", Labels: labels}, Spec: corev1.ServiceSpec{Ports: port, Selector: labels}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: labels}, Spec: corev1.ServiceSpec{Ports: port, Selector: labels}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "r-config", Labels: labels}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "r-users", Labels: labels}},
		&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "r-primary-endpoint", Labels: labels}, AddressType: discoveryv1.AddressTypeIPv4},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: labels}, Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: image}}},
			},
		}},
	} {
		gvk, err := kube.GroupVersionKindFor(foreign)
		require.NoError(t, err)
		t.Run(gvk.Kind+" "+foreign.GetName(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			foreign.SetNamespace(p.name)
			p.create(foreign)
			p.create(p.redis("r", 1))
			p.awaitStatus("r", "in conflict", degradedBy(cachev1.ReasonNameConflict, gvk.Kind, foreign.GetName()))
			now := foreign.DeepCopyObject().(client.Object)
			require.NoError(t, kube.Get(t.Context(), client.ObjectKeyFromObject(foreign), now))
			require.Equal(t, foreign.GetUID(), now.GetUID())
			require.Equal(t, labels, now.GetLabels())
			require.Empty(t, now.GetOwnerReferences())
			for _, field := range now.GetManagedFields() {
				require.NotContains(t, field.Manager, "redis-operator")
			}
			p.delete(foreign)
			p.awaitRunning("r")
			p.answers(p.service("r", ""), "OK", "SET", "k", "v")
		})
	}
}

// TestNamesMeet: a resource whose objects' names another resource has taken waits until they are free.
func TestNamesMeet(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	first := p.started(p.redis("a", 2))
	processes := p.processes("a")
	p.create(p.redis("a-replicas", 1))
	p.awaitStatus("a-replicas", "in conflict", degradedBy(cachev1.ReasonNameConflict, "a-replicas"))
	p.awaitRunning("a")
	require.Equal(t, processes, p.processes("a"))
	p.delete(first)
	p.awaitRunning("a-replicas")
}
