//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/test/apiserver"
)

// world is a namespace with a kubelet of its own, and what a test does and sees in it.
type world struct {
	testing.TB
	client.Client // an administrator's, without a cache
	ctx           context.Context
	config        *rest.Config
	namespace     string
	kubelet       *kubelet

	// password is what the test's own clients log in with as the default user.
	password string
	// where says, in a failure, what a test with many rounds was about to show.
	where string

	mu        sync.Mutex
	operators []*operator
}

const (
	name = "my-redis"
	// patience is how long what should happen within a second or two may take on a busy machine.
	patience = 40 * time.Second
)

func newWorld(t testing.TB) *world {
	t.Helper()
	config := startCluster(t)
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	w := &world{TB: t, Client: c, ctx: t.Context(), config: config, namespace: apiserver.Namespace(t, config)}
	w.kubelet = startKubelet(t, kubernetes.NewForConfigOrDie(config), w.namespace)
	t.Cleanup(w.tellStory)
	return w
}

// operator starts an operator; a nil tap gets one that only counts.
func (w *world) operator(tapped *tap) *operator {
	w.Helper()
	if tapped == nil {
		tapped = newTap()
	}
	o := startOperator(w, w.config, w.namespace, tapped)
	w.mu.Lock()
	defer w.mu.Unlock()
	o.name = "operator-" + strconv.Itoa(len(w.operators)+1)
	w.operators = append(w.operators, o)
	return o
}

func (w *world) lastOperator() *operator {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.operators[len(w.operators)-1]
}

// tellStory keeps the logs of a test that failed.
func (w *world) tellStory() {
	if !w.Failed() {
		return
	}
	dir, err := os.MkdirTemp("", "integration-"+strings.ReplaceAll(w.Name(), "/", "_")+"-")
	if err != nil {
		w.Log(err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.operators {
		if file, err := os.Create(filepath.Join(dir, o.name+".log")); err == nil {
			o.log.copyTo(file)
			for _, r := range o.tap.requestsMade() {
				_, _ = fmt.Fprintln(file, r.at.UTC().Format(timeOfDay), r.what)
			}
			_ = file.Close()
		}
	}
	logs, _ := filepath.Glob(filepath.Join(w.kubelet.dir, "*", "log"))
	for _, log := range logs {
		if content, err := os.ReadFile(log); err == nil {
			_ = os.WriteFile(filepath.Join(dir, filepath.Base(filepath.Dir(log))+".log"), content, 0o600)
		}
	}
	w.Logf("logs of operators and Redis: %s", dir)
}

// create makes the resource; changes are made to it before.
func (w *world) create(size int32, changes ...func(*cachev1.RedisCluster)) {
	w.Helper()
	resource := &cachev1.RedisCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name},
		Spec:       cachev1.RedisClusterSpec{Size: size, Image: "redis:7.0"},
	}
	for _, change := range changes {
		change(resource)
	}
	require.NoError(w, w.Create(w.ctx, resource))
}

func (w *world) key() types.NamespacedName {
	return types.NamespacedName{Namespace: w.namespace, Name: name}
}

func (w *world) resource() *cachev1.RedisCluster {
	w.Helper()
	resource := &cachev1.RedisCluster{}
	require.NoError(w, w.Get(w.ctx, w.key(), resource))
	return resource
}

// change changes the resource's spec or metadata, whatever else changes it at the time.
func (w *world) change(change func(*cachev1.RedisCluster)) {
	w.Helper()
	resource := w.resource()
	base := resource.DeepCopy()
	change(resource)
	require.NoError(w, w.Patch(w.ctx, resource, client.MergeFrom(base)))
}

func (w *world) scale(size int32) {
	w.Helper()
	w.change(func(r *cachev1.RedisCluster) { r.Spec.Size = size })
}

// pods are the resource's pods, sorted by name.
func (w *world) pods() ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := w.List(w.ctx, &list, client.InNamespace(w.namespace), client.MatchingLabels(resources.Selector(name))); err != nil {
		return nil, err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return list.Items, nil
}

func (w *world) login() []string {
	if w.password == "" {
		return nil
	}
	return []string{w.password}
}

func address(ip string) string { return net.JoinHostPort(ip, "6379") }

// serviceAddress is where a client that uses the Service gets to.
func (w *world) serviceAddress() (string, error) {
	var slice discoveryv1.EndpointSlice
	if err := w.Get(w.ctx, types.NamespacedName{Namespace: w.namespace, Name: resources.PrimarySliceName(name)}, &slice); err != nil {
		return "", err
	}
	if len(slice.Endpoints) != 1 || len(slice.Endpoints[0].Addresses) != 1 {
		return "", fmt.Errorf("the Service's slice has endpoints %v", slice.Endpoints)
	}
	return address(slice.Endpoints[0].Addresses[0]), nil
}

// node is one pod as a test sees it at rest.
type node struct {
	pod  corev1.Pod
	info info
}

// settled is everything that must hold once a resource of that size is at rest; the error says what does not.
func (w *world) settled(size int32) ([]node, error) {
	resource := &cachev1.RedisCluster{}
	if err := w.Get(w.ctx, w.key(), resource); err != nil {
		return nil, err
	}
	status := &resource.Status
	switch {
	case status.ObservedGeneration != resource.Generation:
		return nil, fmt.Errorf("status is of generation %d, spec is of %d", status.ObservedGeneration, resource.Generation)
	case status.Phase != cachev1.PhaseRunning:
		return nil, fmt.Errorf("the phase is %s: %s", status.Phase, told(status.Conditions))
	case status.ReadyReplicas != size || status.Replicas != size || len(status.Nodes) != int(size):
		return nil, fmt.Errorf("status counts %d ready of %d, nodes %v", status.ReadyReplicas, status.Replicas, status.Nodes)
	case status.Claim == nil:
		return nil, errors.New("there is no claim")
	case status.Claim.Quorum != size/2 || len(status.Claim.Attached) != int(size)-1:
		return nil, fmt.Errorf("quorum %d and %d attached are on record", status.Claim.Quorum, len(status.Claim.Attached))
	}
	pods, err := w.pods()
	if err != nil {
		return nil, err
	}
	if len(pods) != int(size) {
		return nil, fmt.Errorf("there are %d pods", len(pods))
	}
	nodes := make([]node, 0, size)
	for _, pod := range pods {
		fields, err := askInfo(address(pod.Status.PodIP), w.login())
		if err != nil {
			return nil, fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		nodes = append(nodes, node{pod, fields})
	}
	primary := slices.IndexFunc(nodes, func(n node) bool { return n.pod.Name == status.Primary })
	if primary < 0 {
		return nil, fmt.Errorf("status names the primary %q, which does not exist", status.Primary)
	}
	nodes[0], nodes[primary] = nodes[primary], nodes[0]
	if err := errors.Join(w.rolesSettled(status, nodes), w.servicesSettled(nodes), w.objectsSettled(size)); err != nil {
		return nil, err
	}
	return nodes, nil
}

// rolesSettled compares the claim, the labels and what the servers say of themselves. The first node is the primary.
func (w *world) rolesSettled(status *cachev1.RedisClusterStatus, nodes []node) error {
	var wrong []error
	primary := nodes[0]
	claim := status.Claim
	if claim.Primary.UID != primary.pod.UID || claim.RunID != primary.info["run_id"] || claim.ReplicationID != primary.info["master_replid"] {
		wrong = append(wrong, fmt.Errorf("the claim %+v is not about primary %s with run id %s and history %s",
			*claim, primary.pod.Name, primary.info["run_id"], primary.info["master_replid"]))
	}
	for i, n := range nodes {
		role, redisRole := cachev1.RoleReplica, "slave"
		if i == 0 {
			role, redisRole = cachev1.RolePrimary, "master"
		}
		switch {
		case n.info["role"] != redisRole:
			wrong = append(wrong, fmt.Errorf("%s is %s, not %s", n.pod.Name, n.info["role"], redisRole))
		case n.pod.Labels[cachev1.LabelRole] != role:
			wrong = append(wrong, fmt.Errorf("%s is labelled %q, not %s", n.pod.Name, n.pod.Labels[cachev1.LabelRole], role))
		case conditionOf(&n.pod.Status, corev1.PodReady) != corev1.ConditionTrue:
			wrong = append(wrong, fmt.Errorf("%s is not Ready", n.pod.Name))
		case conditionOf(&n.pod.Status, cachev1.GateInSync) != corev1.ConditionTrue:
			wrong = append(wrong, fmt.Errorf("the gate of %s is not open", n.pod.Name))
		case i > 0 && (n.info["master_host"] != primary.pod.Status.PodIP || n.info["master_link_status"] != "up"):
			wrong = append(wrong, fmt.Errorf("%s follows %s, link %s", n.pod.Name, n.info["master_host"], n.info["master_link_status"]))
		case i > 0 && n.info["master_replid"] != primary.info["master_replid"]:
			wrong = append(wrong, fmt.Errorf("%s has another history than the primary", n.pod.Name))
		}
		wantedBoot := ""
		if len(nodes) == 1 {
			wantedBoot = cachev1.BootRolePrimary
		}
		if n.pod.Annotations[cachev1.AnnotationBootRole] != wantedBoot {
			wrong = append(wrong, fmt.Errorf("%s has boot role %q", n.pod.Name, n.pod.Annotations[cachev1.AnnotationBootRole]))
		}
	}
	if replicas := nodes[0].info["connected_slaves"]; replicas != strconv.Itoa(len(nodes)-1) {
		wrong = append(wrong, fmt.Errorf("the primary says it has %s replicas", replicas))
	}
	return errors.Join(wrong...)
}

// servicesSettled compares where the Services lead. Those with a selector are Kubernetes' work.
func (w *world) servicesSettled(nodes []node) error {
	service, err := w.serviceAddress()
	if err != nil {
		return err
	}
	if service != address(nodes[0].pod.Status.PodIP) {
		return fmt.Errorf("the Service leads to %s, the primary is %s", service, nodes[0].pod.Status.PodIP)
	}
	var slices discoveryv1.EndpointSliceList
	if err := w.List(w.ctx, &slices, client.InNamespace(w.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: resources.ReplicasServiceName(name)}); err != nil {
		return err
	}
	ready := map[string]bool{}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			if endpoint.Conditions.Ready != nil && *endpoint.Conditions.Ready {
				ready[endpoint.Addresses[0]] = true
			}
		}
	}
	for _, n := range nodes[1:] {
		if !ready[n.pod.Status.PodIP] {
			return fmt.Errorf("the Service for reads does not lead to %s", n.pod.Name)
		}
	}
	if len(ready) != len(nodes)-1 {
		return fmt.Errorf("the Service for reads leads to %d nodes", len(ready))
	}
	return nil
}

func (w *world) objectsSettled(size int32) error {
	var workload appsv1.Deployment
	if err := w.Get(w.ctx, w.key(), &workload); err != nil {
		return err
	}
	if *workload.Spec.Replicas != size || workload.Status.ReadyReplicas != size {
		return fmt.Errorf("the Deployment wants %d pods and counts %d ready", *workload.Spec.Replicas, workload.Status.ReadyReplicas)
	}
	err := w.Get(w.ctx, w.key(), &policyv1.PodDisruptionBudget{})
	if size > 1 && err != nil {
		return err
	}
	if size == 1 && !apierrors.IsNotFound(err) {
		return fmt.Errorf("one pod has a disruption budget (%w)", err)
	}
	return nil
}

func told(conditions []metav1.Condition) string {
	var b strings.Builder
	for _, c := range conditions {
		fmt.Fprintf(&b, "%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
	}
	return b.String()
}

// awaitSettled waits until a resource of that size is at rest; the first node is the primary.
func (w *world) awaitSettled(size int32) []node {
	w.Helper()
	var nodes []node
	w.await(fmt.Sprintf("a settled resource of size %d", size), func() (err error) {
		nodes, err = w.settled(size)
		return err
	})
	return nodes
}

// await waits until the error is nil.
func (w *world) await(what string, attempt func() error) {
	w.Helper()
	w.awaitFor(patience, what, attempt)
}

func (w *world) awaitFor(patience time.Duration, what string, attempt func() error) {
	w.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = attempt(); err == nil {
			return
		}
	}
	require.NoError(w, err, "waited %v for %s; %s", patience, what, w.where)
}

// silent requires that the operator asks the API server for nothing for that long.
func (w *world) silent(o *operator, d time.Duration) {
	w.Helper()
	time.Sleep(time.Second) // what the last change of status makes it look at again
	since := time.Now()
	time.Sleep(d)
	require.Empty(w, o.tap.requestsSince(since), "requests to the API server although all is at rest; %s", w.where)
}

// events are the resource's events with that reason.
func (w *world) events(reason string) []eventsv1.Event {
	w.Helper()
	var list eventsv1.EventList
	require.NoError(w, w.List(w.ctx, &list, client.InNamespace(w.namespace)))
	return slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason != reason || e.Regarding.Kind != "RedisCluster" })
}

// runIDs are the run ids of the servers by pod: what stays while nothing restarts.
func runIDs(nodes []node) map[string]string {
	ids := map[string]string{}
	for _, n := range nodes {
		ids[n.pod.Name] = n.info["run_id"]
	}
	return ids
}

// differentRuns is settled, with every server another process than before.
func (w *world) differentRuns(size int32, before map[string]string) ([]node, error) {
	nodes, err := w.settled(size)
	if err != nil {
		return nil, err
	}
	for pod, run := range runIDs(nodes) {
		if before[pod] == run {
			return nil, fmt.Errorf("the server of %s did not restart", pod)
		}
	}
	return nodes, nil
}

// exactly is nil if there are that many events; one that was repeated counts as often.
func exactly(want int, events []eventsv1.Event) error {
	count := 0
	for _, event := range events {
		count++
		if event.Series != nil {
			count += int(event.Series.Count) - 1
		}
	}
	if count != want {
		return fmt.Errorf("there are %d events, not %d", count, want)
	}
	return nil
}
