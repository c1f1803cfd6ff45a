//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// executioners are pods, one on each node, that see the node's processes and may end them: nobody inside a container can kill
// its first process. TestMain removes their namespace.
var executioners struct {
	sync.Mutex
	namespace string
}

// findFirstProcess prints the process that is the first of the container $1.
const findFirstProcess = `for file in $(grep -ls "$1" /proc/[0-9]*/cgroup); do
  process=${file#/proc/}; process=${process%/cgroup}
  if grep -qs '^NSpid:.*[[:space:]]1$' /proc/$process/status; then echo "$process"; fi
done`

// killProcess ends the first process of a pod's first container at once (SIGKILL), as a crash would, and nothing else.
func killProcess(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NotEmpty(t, pod.Status.ContainerStatuses)
	_, container, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	require.NotEmpty(t, container, "pod %s has no running container", pod.Name)
	on := executionerOn(t, pod.Spec.NodeName)
	found, err := kube.exec(t.Context(), on, nil, "sh", "-c", findFirstProcess, "find", container)
	require.NoError(t, err)
	processes := strings.Fields(found)
	require.Len(t, processes, 1, "processes that are the first of container %s of pod %s", container, pod.Name)
	_, err = kube.exec(t.Context(), on, nil, "sh", "-c", `grep -q "$1" /proc/$2/cgroup && kill -KILL "$2"`, "kill", container, processes[0])
	require.NoError(t, err)
}

// executionerOn is the pod that may end processes of a node.
func executionerOn(t *testing.T, node string) client.ObjectKey {
	t.Helper()
	executioners.Lock()
	defer executioners.Unlock()
	if executioners.namespace == "" {
		executioners.namespace = makeExecutioners(t)
	}
	var found client.ObjectKey
	await(t, "a pod that may end processes runs on "+node, settling, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := kube.List(ctx, &pods, client.InNamespace(executioners.namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			if pod := &pods.Items[i]; pod.Spec.NodeName == node && podReady(pod) {
				found = client.ObjectKeyFromObject(pod)
				return nil
			}
		}
		return fmt.Errorf("%d pods, none that is ready there", len(pods.Items))
	})
	return found
}

func makeExecutioners(t *testing.T) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{testLabel: "executioners"}}}
	require.NoError(t, kube.Create(t.Context(), namespace))
	labels := map[string]string{"app": "executioner"}
	require.NoError(t, kube.Create(t.Context(), &appsv1.DaemonSet{
		ObjectMeta: at(namespace.Name, "executioner"),
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostPID:                       true,
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers: []corev1.Container{{
						Name: "executioner", Image: image, Command: []string{"sh", "-c", "while :; do sleep 3600; done"},
						SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))},
					}},
				},
			},
		},
	}))
	return namespace.Name
}
