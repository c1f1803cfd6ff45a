//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// cluster is a Kubernetes, with an administrator's credentials.
type cluster struct {
	client.WithWatch

	config  *rest.Config
	core    *kubernetes.Clientset
	dynamic *dynamic.DynamicClient
}

func openCluster() (*cluster, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: set KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "e2e"
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	typed, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{WithWatch: typed, config: config, core: core, dynamic: untyped}, nil
}

// poll asks again and again until the answer is nil; if it never is, the error is the last one.
func poll(ctx context.Context, within time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := errors.New("never asked")
	for {
		if err := ask(ctx); err == nil {
			return nil
		} else if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", within, last)
		case <-ticker.C:
		}
	}
}

// await fails the test unless the condition comes true within the time.
func await(t *testing.T, what string, within time.Duration, condition func(ctx context.Context) error) {
	t.Helper()
	require.NoError(t, poll(t.Context(), within, condition), what)
}

// holds fails the test if the condition ceases to hold within the time.
func holds(t *testing.T, what string, during time.Duration, condition func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), during)
	defer cancel()
	for ctx.Err() == nil {
		if err := condition(t.Context()); err != nil {
			require.NoError(t, err, what)
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// exec runs a command in a pod's first container and returns what it wrote to its output.
func (c *cluster) exec(ctx context.Context, pod client.ObjectKey, stdin io.Reader, command ...string) (string, error) {
	var out bytes.Buffer
	err := c.execTo(ctx, pod, stdin, &out, command...)
	return out.String(), err
}

// execTo is exec for a command whose output is read while it runs.
func (c *cluster) execTo(ctx context.Context, pod client.ObjectKey, stdin io.Reader, stdout io.Writer, command ...string) error {
	request := c.core.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return err
	}
	var complaints bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: stdout, Stderr: &complaints})
	if err != nil {
		return fmt.Errorf("in pod %s: %w: %s", pod, err, strings.TrimSpace(complaints.String()))
	}
	return nil
}

// logs are all that a pod's container wrote, this time or the last time it ran.
func (c *cluster) logs(ctx context.Context, pod *corev1.Pod, options corev1.PodLogOptions) (string, error) {
	text, err := c.core.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &options).DoRaw(ctx)
	return string(text), err
}

// kinds lists the kinds of objects that live in namespaces and can be listed.
func (c *cluster) kinds() ([]schema.GroupVersionResource, error) {
	lists, err := c.core.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionResource
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, kind := range list.APIResources {
			if slices.Contains(kind.Verbs, "list") {
				kinds = append(kinds, group.WithResource(kind.Name))
			}
		}
	}
	return kinds, nil
}

// everything is all objects of a namespace, of all kinds.
func (c *cluster) everything(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	var all []unstructured.Unstructured
	for _, kind := range kinds {
		list, err := c.dynamic.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", kind, err)
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// kubectl runs kubectl in a namespace and returns its output; it must succeed.
func kubectl(t *testing.T, namespace string, args ...string) string {
	t.Helper()
	program := os.Getenv("KUBECTL")
	if program == "" {
		program = "kubectl"
	}
	command := exec.CommandContext(t.Context(), program, append([]string{"--namespace", namespace}, args...)...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "kubectl %s: %s", strings.Join(args, " "), out)
	return strings.TrimSpace(string(out))
}
