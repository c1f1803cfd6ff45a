//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// atOnce is how many parallel tests run at the same time: they mostly wait for the cluster.
const atOnce = "5"

// testLabel is on every namespace that the tests make, so that what a killed run left is found by the next one.
const testLabel = "e2e.cache.example.com/test"

// kube is the cluster that the tests run on.
var kube *cluster

func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); !given(f.Name) {
		_ = f.Value.Set(atOnce)
	}
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx := context.Background()
	var err error
	if kube, err = openCluster(); err == nil {
		err = kube.prepare(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := kube.removeNamespaces(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: remove what the tests made:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func given(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// prepare makes sure that the operator runs, and removes what a killed run left.
func (c *cluster) prepare(ctx context.Context) error {
	if err := c.removeNamespaces(ctx); err != nil {
		return err
	}
	operator, err := c.operator(ctx)
	if err != nil {
		return fmt.Errorf("no operator: run make deploy: %w", err)
	}
	// A killed run may have left it away.
	if *operator.Spec.Replicas != operatorReplicas {
		if err := c.scaleOperator(ctx, operatorReplicas); err != nil {
			return err
		}
	}
	return poll(ctx, 2*time.Minute, func(ctx context.Context) error { return c.operatorReady(ctx) })
}

// removeNamespaces removes the namespaces of tests, and waits until they are gone.
func (c *cluster) removeNamespaces(ctx context.Context) error {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.HasLabels{testLabel}); err != nil {
		return fmt.Errorf("list the namespaces of tests: %w", err)
	}
	for i := range list.Items {
		if err := client.IgnoreNotFound(c.Delete(ctx, &list.Items[i])); err != nil {
			return err
		}
	}
	for i := range list.Items {
		if err := poll(ctx, 2*time.Minute, func(ctx context.Context) error {
			return goneError(c.Get(ctx, client.ObjectKeyFromObject(&list.Items[i]), &corev1.Namespace{}), "namespace "+list.Items[i].Name)
		}); err != nil {
			return err
		}
	}
	return nil
}

// goneError is nil if the error of a Get says that the object is not there.
func goneError(err error, what string) error {
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%s still exists", what)
}

// needs leaves a test out where the cluster cannot do what it needs; under REQUIRE_ALL that is a failure.
func needs(t *testing.T, there bool, what string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("REQUIRE_ALL") != "":
		t.Fatalf("this test needs %s, and REQUIRE_ALL allows nothing to be left out", what)
	default:
		t.Skipf("this test needs %s", what)
	}
}

// at makes metadata of a name in a namespace.
func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
