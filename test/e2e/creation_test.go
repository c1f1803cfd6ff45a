//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	creations    = 5
	creationSize = int32(3)
)

// TestCreationIsFast measures, by turns, how long a plain Deployment takes to be ready, and how long a resource of the same
// size and image takes until it is Running and a client has written through its Service. It is measured once more if the
// first time is over the limit: on two cores, another program's burst is in some of the turns only.
func TestCreationIsFast(t *testing.T) {
	p := newPlace(t)
	from := p.makeClient(p.name) // it is in the resource's namespace, so that it asks for one name only
	ours, limit := p.timeCreations(from, "first")
	if ours > limit {
		ours, limit = p.timeCreations(from, "again")
	}
	require.LessOrEqual(t, ours, limit)
}

// timeCreations is the median time of our creations, and the limit that follows from that of the plain ones.
func (p *place) timeCreations(from client.ObjectKey, name string) (ours, limit time.Duration) {
	p.t.Helper()
	var plainTimes, ourTimes []time.Duration
	for i := range creations {
		plainTimes = append(plainTimes, p.timePlain(fmt.Sprintf("%s-plain%d", name, i)))
		ourTimes = append(ourTimes, p.timeRedis(from, fmt.Sprintf("%s-r%d", name, i)))
	}
	p.t.Logf("until a plain Deployment is ready: %v; until a resource is Running and written to: %v", plainTimes, ourTimes)
	slices.Sort(plainTimes)
	slices.Sort(ourTimes)
	ours, limit = ourTimes[creations/2], plainTimes[creations/2]*13/10+time.Second
	p.t.Logf("medians: %s and %s; the limit is %s", plainTimes[creations/2], ours, limit)
	return ours, limit
}

// timePlain creates a Deployment of Redis without anything, waits until it is ready, and removes it.
func (p *place) timePlain(name string) time.Duration {
	p.t.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: at(p.name, name), Spec: appsv1.DeploymentSpec{
		Replicas: new(creationSize), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{
					Name: "redis", Image: image, Resources: p.redis(name, creationSize).Spec.Resources,
					ReadinessProbe: &corev1.Probe{
						ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"redis-cli", "-e", "ping"}}},
						PeriodSeconds: 1, TimeoutSeconds: 5,
					},
				}},
			},
		},
	}}
	watcher := p.watch(&appsv1.DeploymentList{})
	defer watcher.Stop()
	begin := time.Now()
	p.create(d)
	p.seen(watcher, name, func(o client.Object) bool {
		return o.(*appsv1.Deployment).Status.ReadyReplicas == creationSize
	})
	took := time.Since(begin)
	p.delete(d, client.PropagationPolicy(metav1.DeletePropagationForeground))
	p.gone(d)
	return took
}

// timeRedis creates a resource, waits until it is Running and a client has written to it, and removes it.
func (p *place) timeRedis(from client.ObjectKey, name string) time.Duration {
	p.t.Helper()
	r := p.redis(name, creationSize)
	// The client is there before, and tries all the time.
	output, written := io.Pipe()
	ctx, cancel := context.WithTimeout(p.t.Context(), settling)
	defer cancel()
	go func() {
		script := `echo trying; until redis-cli -e -h "$1" SET k v 2>/dev/null; do sleep 0.05; done`
		_ = written.CloseWithError(kube.execTo(ctx, from, nil, written, "sh", "-c", script, "try", name))
	}()
	line := make([]byte, 64)
	_, err := output.Read(line)
	require.NoError(p.t, err)
	answered := make(chan error, 1)
	watcher := p.watch(&cachev1.RedisClusterList{})
	defer watcher.Stop()
	begin := time.Now()
	p.create(r)
	go func() {
		count, err := output.Read(line)
		if err == nil && !strings.HasPrefix(string(line[:count]), "OK") {
			err = fmt.Errorf("the client says %q", line[:count])
		}
		answered <- err
		_, _ = io.Copy(io.Discard, output)
	}()
	p.seen(watcher, name, func(o client.Object) bool { return runs(o.(*cachev1.RedisCluster)) == nil })
	require.NoError(p.t, <-answered)
	took := time.Since(begin)
	pods := p.pods(name)
	p.delete(r)
	for i := range pods {
		p.gone(&pods[i])
	}
	return took
}

func (p *place) watch(list client.ObjectList) watch.Interface {
	p.t.Helper()
	watcher, err := kube.Watch(p.t.Context(), list, client.InNamespace(p.name))
	require.NoError(p.t, err)
	return watcher
}

// seen waits until a watch has shown an object as it should be.
func (p *place) seen(watcher watch.Interface, name string, is func(o client.Object) bool) {
	p.t.Helper()
	limit := time.After(settling)
	for {
		select {
		case event, open := <-watcher.ResultChan():
			require.True(p.t, open, "the watch ended")
			if o, isObject := event.Object.(client.Object); isObject && o.GetName() == name && is(o) {
				return
			}
		case <-limit:
			require.FailNow(p.t, name+" is not as it should be within "+settling.String())
		}
	}
}
