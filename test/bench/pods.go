package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/redis-operator/test/bench/measure"
)

const (
	clientDir     = "/bench"
	clientProgram = clientDir + "/client"
)

// outposts are pods, one on each node, with the program test/bench/client in them: its writers reach a Service as any pod of that
// node does, through the node's own kube-proxy, and it sees the node's processes.
type outposts struct {
	kube      *cluster
	namespace string
	program   []byte
	// sum is what the program says of itself.
	sum string
}

func newOutposts(ctx context.Context, kube *cluster) (*outposts, error) {
	program, err := buildClient(ctx, kube)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(program)
	o := &outposts{kube: kube, program: program, sum: hex.EncodeToString(digest[:])}
	if o.namespace, err = kube.createNamespace(ctx, "outposts"); err != nil {
		return nil, err
	}
	if err := kube.Create(ctx, o.daemonSet()); err != nil {
		return nil, err
	}
	nodes, err := kube.nodes(ctx)
	if err != nil {
		return nil, err
	}
	for _, node := range nodes {
		if err := o.equip(ctx, node); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// buildClient builds the program for the nodes' architecture, without a C library: it goes into whatever image.
func buildClient(ctx context.Context, kube *cluster) ([]byte, error) {
	var nodes corev1.NodeList
	if err := kube.List(ctx, &nodes); err != nil {
		return nil, err
	}
	if len(nodes.Items) == 0 {
		return nil, errors.New("the cluster has no nodes")
	}
	out := filepath.Join("dist", "bench", "client")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "./test/bench/client")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+nodes.Items[0].Status.NodeInfo.Architecture)
	if output, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the clients' program: %w: %s", err, output)
	}
	return os.ReadFile(out)
}

func (o *outposts) daemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"app": "outpost"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: o.namespace, Name: "outpost"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostPID: true,
					// It stays on a node that is cordoned, cut off or just restarted.
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					TerminationGracePeriodSeconds: new(int64(0)),
					Containers: []corev1.Container{{
						Name: "outpost", Image: image(), Command: []string{"sh", "-c", "while :; do sleep 3600; done"},
						SecurityContext: &corev1.SecurityContext{Privileged: new(true), RunAsUser: new(int64(0))},
						VolumeMounts:    []corev1.VolumeMount{{Name: "program", MountPath: clientDir}},
					}},
					Volumes: []corev1.Volume{{Name: "program", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
				},
			},
		},
	}
}

// pod is the outpost on a node.
func (o *outposts) pod(ctx context.Context, node string) (*corev1.Pod, error) {
	var pods corev1.PodList
	if err := o.kube.List(ctx, &pods, client.InNamespace(o.namespace), client.MatchingLabels{"app": "outpost"}); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.Spec.NodeName == node && podReady(pod) {
			return pod, nil
		}
	}
	return nil, fmt.Errorf("no outpost is ready on %s", node)
}

// equip waits for the outpost of a node and sees to it that it has the program.
func (o *outposts) equip(ctx context.Context, node string) error {
	return poll(ctx, "an outpost on "+node, settling, func(ctx context.Context) error {
		if said, err := o.call(ctx, node, nil, "sum"); err == nil && strings.TrimSpace(said) == o.sum {
			return nil
		}
		pod, err := o.pod(ctx, node)
		if err != nil {
			return err
		}
		const receive = `cat >"$0.new" && chmod +x "$0.new" && mv "$0.new" "$0"`
		if _, err = o.kube.exec(ctx, client.ObjectKeyFromObject(pod), bytes.NewReader(o.program), "sh", "-c", receive, clientProgram); err != nil {
			return err
		}
		return errors.New("the program was just brought there")
	})
}

// call runs the program on a node.
func (o *outposts) call(ctx context.Context, node string, input []byte, args ...string) (string, error) {
	pod, err := o.pod(ctx, node)
	if err != nil {
		return "", err
	}
	command := append([]string{clientProgram}, args...)
	if input == nil {
		return o.kube.exec(ctx, client.ObjectKeyFromObject(pod), nil, command...)
	}
	return o.kube.exec(ctx, client.ObjectKeyFromObject(pod), bytes.NewReader(input), command...)
}

// signal sends a signal to the first processes of pods on one node, and returns when.
func (o *outposts) signal(ctx context.Context, signal string, pods ...*corev1.Pod) (time.Time, error) {
	args := []string{"signal", signal}
	for _, pod := range pods {
		if len(pod.Status.ContainerStatuses) == 0 {
			return time.Time{}, fmt.Errorf("pod %s has no container", pod.Name)
		}
		_, container, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
		args = append(args, container)
	}
	said, err := o.call(ctx, pods[0].Spec.NodeName, nil, args...)
	if err != nil {
		return time.Time{}, err
	}
	nanos, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil {
		// The output was lost, as happens on a busy node. The moment is then known less well; see measure.Moment.
		return time.Now(), nil //nolint:nilerr // The signal was sent.
	}
	return time.Unix(0, nanos), nil
}

// writer is one that runs in an outpost.
type writer struct {
	outposts    *outposts
	node, name  string
	unconfirmed bool
}

// startWriter starts a writer to a Service.
func (o *outposts) startWriter(ctx context.Context, node, name, service string, pace time.Duration) (*writer, error) {
	if err := o.equip(ctx, node); err != nil {
		return nil, err
	}
	_, err := o.call(ctx, node, nil, "start", "-name", name, "-to", service, "-pace", pace.String())
	return &writer{outposts: o, node: node, name: name}, err
}

// more waits until each client has so many more acknowledgements.
func (w *writer) more(ctx context.Context, count int, within time.Duration) error {
	_, err := w.outposts.call(ctx, w.node, nil, "more", "-name", w.name, "-count", strconv.Itoa(count), "-within", within.String(),
		"-unconfirmed="+strconv.FormatBool(w.unconfirmed))
	return err
}

// finish stops the clients. The report has a window for each of the moments; the keys are looked up on the primary. It can be asked
// for again; abandon ends the writer's process.
func (w *writer) finish(ctx context.Context, moments, faults []time.Time, primary string, absent []string) (*measure.Report, error) {
	request, err := json.Marshal(map[string]any{"Moments": moments, "Faults": faults, "Primary": primary, "Absent": absent})
	if err != nil {
		return nil, err
	}
	said, err := w.outposts.call(ctx, w.node, request, "finish", "-name", w.name)
	if err != nil {
		return nil, err
	}
	var report measure.Report
	if err := json.Unmarshal([]byte(said), &report); err != nil {
		return nil, fmt.Errorf("report of writer %s: %w: %.200s", w.name, err, said)
	}
	return &report, nil
}

// abandon ends the writer, with or without a report.
func (w *writer) abandon(ctx context.Context) error {
	_, err := w.outposts.call(ctx, w.node, []byte("{}"), "finish", "-name", w.name)
	return err
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
