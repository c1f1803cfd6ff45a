//go:build integration

package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// story is something that an operator brings about with several writes, to the API server and to Redis. It is told again and
// again in one namespace: do, then (by an operator that does not crash) undo.
type story struct {
	name string
	// before and after are the sizes at rest; before 0, there is no resource.
	before, after int32
	do            func(w *world, nodes []node)
	undo          func(w *world)
	// dataGoes is true where no write can survive.
	dataGoes bool
	// patience is how long the end may take after a crash, if that is longer than usual.
	patience time.Duration
}

var stories = []story{
	// The long ones first.
	{name: "PrimaryDeleted", before: 3, after: 3, do: func(w *world, nodes []node) {
		require.NoError(w, w.Delete(w.ctx, &nodes[0].pod))
		// A new operator, which did not see its process end, waits for as long as it might take (state.TerminationGrace).
	}, patience: state.TerminationGrace + patience},
	{name: "Rollout", before: 2, after: 2, do: func(w *world, _ []node) {
		w.change(func(r *cachev1.RedisCluster) {
			hz, _ := strconv.Atoi(string(r.Spec.Config["hz"]))
			r.Spec.Config = map[string]cachev1.ConfigValue{"hz": cachev1.ConfigValue(strconv.Itoa(10 + (hz+1)%90))}
		})
	}, patience: state.TerminationGrace + patience}, // as with PrimaryDeleted
	{name: "Create", before: 0, after: 3, do: func(w *world, _ []node) { w.create(3) }, undo: (*world).remove, dataGoes: true},
	{name: "Failover", before: 3, after: 3, do: func(w *world, nodes []node) { w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL) }},
	{name: "FailoverOfTwo", before: 2, after: 2, do: func(w *world, nodes []node) { w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL) }},
	{name: "ScaleUp", before: 3, after: 5, do: func(w *world, _ []node) { w.scale(5) }, undo: func(w *world) { w.scale(3) }},
	{name: "ScaleDown", before: 4, after: 2, do: func(w *world, _ []node) { w.scale(2) }, undo: func(w *world) { w.scale(4) }},
	{name: "ScaleToOne", before: 2, after: 1, do: func(w *world, _ []node) { w.scale(1) }, undo: func(w *world) { w.scale(2) }},
	{name: "ScaleFromOne", before: 1, after: 2, do: func(w *world, _ []node) { w.scale(2) }, undo: func(w *world) { w.scale(1) }},
	{name: "OneRestarts", before: 1, after: 1, do: func(w *world, nodes []node) {
		w.kubelet.kill(nodes[0].pod.Name, syscall.SIGKILL)
	}, dataGoes: true},
	{name: "AllDie", before: 3, after: 3, do: func(w *world, _ []node) { w.kubelet.killAll() }, dataGoes: true},
	{name: "Password", before: 2, after: 2, do: func(w *world, _ []node) {
		w.setPassword(strconv.Itoa(rand.Int()))
	}},
	{name: "StatusWiped", before: 3, after: 3, do: func(w *world, _ []node) { w.wipeStatus() }},
}

// TestCrashPoints lets the operator crash right before and right after each of its writes, and requires that a new one, which
// remembers nothing, brings about the same. A write may also be on its way still, and arrive when the new operator is done: so
// it is with a leader that was stopped for a while.
//
// There are hundreds of such points; by default a few of each story are tried. INTEGRATION_CRASH_POINTS=all tries all, a
// number that many of each story; INTEGRATION_CRASH_POINTS=Failover/after/7 names one.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.tell(newWorld(t))
		})
	}
}

// point is a write, counted from 1, and what becomes of it when the operator crashes.
type point struct {
	write int
	how   fate
}

func (p point) String() string { return fmt.Sprintf("%v/%d", p.how, p.write) }

func (s *story) tell(w *world) {
	if wanted := os.Getenv("INTEGRATION_CRASH_POINTS"); strings.Contains(wanted, "/") && !strings.HasPrefix(wanted, s.name+"/") {
		w.Skip("not wanted")
	}
	o := w.operator(nil)
	var l *load
	if s.before > 0 {
		w.create(s.before)
		w.awaitSettled(s.before)
		if s.before > 1 && s.after > 1 && !s.dataGoes {
			l = w.load()
		}
	}
	// Once without a crash, to know what there is.
	nodes := s.prepare(w, l)
	o.tap.count()
	s.do(w, nodes)
	s.awaitEnd(w, nodes)
	time.Sleep(time.Second)
	writes := o.tap.counted()
	w.Logf("%d writes: %s", len(writes), strings.Join(writes, ", "))

	for _, p := range s.points(len(writes)) {
		s.reset(w)
		nodes = s.prepare(w, l)
		o.tap.arm(p.write, p.how)
		began := time.Now()
		s.do(w, nodes)
		if !s.awaitCrash(w, o, nodes) {
			w.Logf("%s/%v: it was done with %d writes this time", s.name, p, len(o.tap.counted()))
			o.tap.count()
			continue
		}
		crashed := time.Now()
		counted := o.tap.counted()
		what := fmt.Sprintf("%s/%v (%s)", s.name, p, counted[len(counted)-1])
		w.where = what
		old := o
		old.crash()
		o = w.operator(nil)
		nodes = s.awaitEnd(w, nodes)
		ended := time.Now()
		if p.how == late {
			close(old.tap.release)
			<-old.tap.arrived
			time.Sleep(200 * time.Millisecond)
			nodes = w.awaitSettled(s.after)
		}
		if l != nil {
			l.check(nodes)
			require.Empty(w, w.events("DataLost"), what)
		}
		w.silent(o, 3*time.Second)
		w.Logf("%s: crashed after %v, right again %v later", what, crashed.Sub(began).Round(time.Millisecond), ended.Sub(crashed).Round(time.Millisecond))
	}
	if l != nil {
		l.requireKept(w.awaitSettled(s.after))
	}
}

// points are the crash points to try, of so many writes.
func (s *story) points(writes int) []point {
	wanted := os.Getenv("INTEGRATION_CRASH_POINTS")
	if parts := strings.Split(wanted, "/"); len(parts) == 3 {
		number, _ := strconv.Atoi(parts[2])
		for _, how := range []fate{lost, carriedOut, late} {
			if how.String() == parts[1] {
				return []point{{number, how}}
			}
		}
	}
	var all []point
	for write := 1; write <= writes; write++ {
		all = append(all, point{write, lost}, point{write, carriedOut}, point{write, late})
	}
	count := 4
	if s.patience > 0 {
		count = 2
	}
	if wanted == "all" {
		count = len(all)
	} else if number, err := strconv.Atoi(wanted); err == nil {
		count = number
	}
	if count >= len(all) {
		return all
	}
	// Others every time, spread over the story.
	var some []point
	for i := range count {
		from, to := i*len(all)/count, (i+1)*len(all)/count
		some = append(some, all[from+rand.IntN(to-from)])
	}
	return some
}

// prepare makes sure of the state that the story begins with.
func (s *story) prepare(w *world, l *load) []node {
	if s.before == 0 {
		return nil
	}
	nodes := w.awaitSettled(s.before)
	if l != nil {
		l.awaitConfirmed(10)
	}
	return nodes
}

func (s *story) reset(w *world) {
	if s.undo != nil {
		s.undo(w)
	}
}

// end is the state that the story ends with.
func (s *story) end(w *world, before []node) ([]node, error) {
	nodes, err := w.settled(s.after)
	if err != nil || s.before == 0 {
		return nodes, err
	}
	switch s.name {
	case "Failover", "FailoverOfTwo", "PrimaryDeleted":
		if nodes[0].pod.Name == before[0].pod.Name {
			return nil, fmt.Errorf("%s is still the primary", nodes[0].pod.Name)
		}
	case "OneRestarts", "AllDie", "Rollout":
		return w.differentRuns(s.after, runIDs(before))
	case "Password":
		return nodes, w.accepted(nodes, w.password)
	}
	return nodes, nil
}

func (s *story) awaitEnd(w *world, before []node) []node {
	var nodes []node
	w.awaitFor(max(s.patience, patience), "the end of "+s.name, func() (err error) {
		nodes, err = s.end(w, before)
		return err
	})
	return nodes
}

// awaitCrash waits until the operator has crashed; it is false if the story ended without.
func (s *story) awaitCrash(w *world, o *operator, before []node) bool {
	w.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		select {
		case <-o.tap.crashed:
			return true
		case <-time.After(100 * time.Millisecond):
		}
		if _, err := s.end(w, before); err != nil {
			continue
		}
		select {
		case <-o.tap.crashed:
			return true
		case <-time.After(1500 * time.Millisecond):
			return false
		}
	}
	_, err := s.end(w, before)
	require.NoError(w, err, "neither a crash nor an end")
	return false
}

// remove deletes the resource and waits until all of it is gone.
func (w *world) remove() {
	w.Helper()
	require.NoError(w, client.IgnoreNotFound(w.Delete(w.ctx, w.resource())))
	w.await("the end of all objects", func() error {
		for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &discoveryv1.EndpointSliceList{}, &cachev1.RedisClusterList{}} {
			if err := w.List(w.ctx, list, client.InNamespace(w.namespace)); err != nil {
				return err
			}
			if count := meta.LenList(list); count > 0 {
				return fmt.Errorf("%d remain of %T", count, list)
			}
		}
		pods, err := w.pods()
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods remain", len(pods))
		}
		return err
	})
}

func (w *world) setPassword(password string) {
	w.Helper()
	w.change(func(r *cachev1.RedisCluster) { r.Spec.Password = password })
	w.password = password
}

func (w *world) wipeStatus() {
	w.Helper()
	resource := w.resource()
	resource.Status = cachev1.RedisClusterStatus{}
	require.NoError(w, w.Status().Update(w.ctx, resource))
}
