package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	// benchLabel is on every namespace that a measurement makes, so that what a killed one left is found by the next.
	benchLabel = "bench.cache.example.com/measurement"
	// settling is how long a change may take on a busy machine.
	settling = 3 * time.Minute
)

// cluster is a Kubernetes, with an administrator's credentials.
type cluster struct {
	client.Client

	config *rest.Config
	core   *kubernetes.Clientset
	// local is the machine's own cluster behind it, or nil.
	local *localCluster
}

func openCluster() (*cluster, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("no cluster: set KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = 200, 400
	config.UserAgent = "bench"
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), cachev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	typed, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	core, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &cluster{Client: typed, config: config, core: core, local: localClusterOf(os.Getenv("KUBECONFIG"))}, nil
}

// poll asks again and again until the answer is nil; if it never is, the error is the last one.
func poll(ctx context.Context, what string, within time.Duration, ask func(ctx context.Context) error) error {
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
			return fmt.Errorf("%s: not within %s: %w", what, within, last)
		case <-ticker.C:
		}
	}
}

// pause is for a fault that has to last.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// proxiesRest is longer than a kube-proxy waits between two syncs: a fault that comes sooner after another change finds it late.
const proxiesRest = 2 * time.Second

// quiet waits until no Service leads anywhere else than it did some time ago.
func (c *cluster) quiet(ctx context.Context) error {
	var seen string
	since := time.Now()
	return poll(ctx, "no Service changes", settling, func(ctx context.Context) error {
		var slices discoveryv1.EndpointSliceList
		if err := c.List(ctx, &slices); err != nil {
			return err
		}
		var now strings.Builder
		for i := range slices.Items {
			fmt.Fprintln(&now, slices.Items[i].UID, slices.Items[i].ResourceVersion)
		}
		if now.String() != seen {
			seen, since = now.String(), time.Now()
		}
		if rest := time.Since(since); rest < proxiesRest {
			return fmt.Errorf("the last change was %s ago", rest.Round(time.Millisecond))
		}
		return nil
	})
}

// exec runs a command in a pod's first container and returns what it wrote to its output.
func (c *cluster) exec(ctx context.Context, pod client.ObjectKey, stdin io.Reader, command ...string) (string, error) {
	request := c.core.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdin: stdin != nil, Stdout: true, Stderr: true}, clientgoscheme.ParameterCodec)
	executor, err := remotecommand.NewSPDYExecutor(c.config, "POST", request.URL())
	if err != nil {
		return "", err
	}
	var out, complaints bytes.Buffer
	err = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: stdin, Stdout: &out, Stderr: &complaints})
	if err != nil {
		return "", fmt.Errorf("%s in pod %s: %w: %s", filepath.Base(command[0]), pod, err, strings.TrimSpace(complaints.String()))
	}
	return out.String(), nil
}

// prepare removes what a killed measurement left, and makes sure that the operator runs.
func (c *cluster) prepare(ctx context.Context) error {
	if c.local != nil {
		if err := c.local.mend(); err != nil {
			return err
		}
	}
	if err := c.uncordonAll(ctx); err != nil {
		return err
	}
	if err := c.removeNamespaces(ctx); err != nil {
		return err
	}
	return poll(ctx, "the operator runs (make deploy)", settling, c.operatorReady)
}

// removeNamespaces removes the namespaces of measurements, and waits until they are gone.
func (c *cluster) removeNamespaces(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.HasLabels{benchLabel}); err != nil {
		return fmt.Errorf("list the namespaces of measurements: %w", err)
	}
	for i := range list.Items {
		if err := c.removeNamespace(ctx, list.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) removeNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{}
	namespace.Name = name
	if err := client.IgnoreNotFound(c.Delete(ctx, namespace)); err != nil {
		return err
	}
	return poll(ctx, "namespace "+name+" is gone", settling, func(ctx context.Context) error {
		switch err := c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it still exists")
	})
}

func (c *cluster) createNamespace(ctx context.Context, purpose string) (string, error) {
	namespace := &corev1.Namespace{}
	namespace.GenerateName = "bench-"
	namespace.Labels = map[string]string{benchLabel: purpose}
	err := c.Create(ctx, namespace)
	return namespace.Name, err
}

// nodes are the names of the cluster's nodes on which pods may run.
func (c *cluster) nodes(ctx context.Context) ([]string, error) {
	var list corev1.NodeList
	if err := c.List(ctx, &list); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if !list.Items[i].Spec.Unschedulable {
			names = append(names, list.Items[i].Name)
		}
	}
	return names, nil
}

// cordonedBy marks the nodes that a measurement has cordoned.
const cordonedBy = "bench.cache.example.com/cordoned"

func (c *cluster) cordon(ctx context.Context, name string, cordoned bool) error {
	var node corev1.Node
	if err := c.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return err
	}
	before := node.DeepCopy()
	node.Spec.Unschedulable = cordoned
	delete(node.Annotations, cordonedBy)
	if cordoned {
		if node.Annotations == nil {
			node.Annotations = map[string]string{}
		}
		node.Annotations[cordonedBy] = "true"
	}
	return c.Patch(ctx, &node, client.MergeFrom(before))
}

func (c *cluster) uncordonAll(ctx context.Context) error {
	var list corev1.NodeList
	if err := c.List(ctx, &list); err != nil {
		return err
	}
	for i := range list.Items {
		if _, ours := list.Items[i].Annotations[cordonedBy]; ours {
			if err := c.cordon(ctx, list.Items[i].Name, false); err != nil {
				return err
			}
		}
	}
	return nil
}
