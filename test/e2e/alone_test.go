//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAloneWithoutOperator: the only node of a resource of size 1 starts again by itself as primary while the operator is away.
func TestAloneWithoutOperator(t *testing.T) {
	p := newPlace(t)
	r := p.started(p.redis("r", 1))
	pod := p.pod(r.Status.Nodes[0])
	service := p.service("r", "")
	p.answers(service, "OK", "SET", "k", "v")
	executionerOn(t, pod.Spec.NodeName)
	// The kubelet writes the annotation to the file that the server reads, a moment after it is set.
	await(t, "the node knows that it is alone", settling, func(ctx context.Context) error {
		text, err := kube.exec(ctx, p.key(pod.Name), nil, "cat", "/etc/redis/boot-role.conf")
		if err == nil && text != "replicaof no one" {
			err = fmt.Errorf("its file says %q", text)
		}
		return err
	})
	back := withoutOperator(t)
	killProcess(t, pod)
	await(t, "the process is another", settling, func(context.Context) error {
		if processOf(p.pod(pod.Name)) == processOf(pod) {
			return fmt.Errorf("it is still %s", processOf(pod))
		}
		return nil
	})
	p.awaitAnswer(service, "OK", "SET", "k2", "v2")
	back()
	p.awaitRunning("r")
	p.answers(service, "v2", "GET", "k2")
	require.Equal(t, pod.UID, p.pod(pod.Name).UID)
}

// TestOneThreeOne: from size 1 to 3 and back, with the data.
func TestOneThreeOne(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.started(p.redis("r", 1))
	service := p.service("r", "")
	w := p.newWriter(service, "key")
	p.resize("r", 3)
	p.awaitRunning("r")
	w.awaitMore(20)
	p.resize("r", 1)
	r := p.awaitRunning("r")
	w.stop()
	w.mustBeOn(service)
	p.onePrimary("r", "")
	// Alone again, it may start as primary by itself.
	require.Equal(t, "replicaof no one", p.pod(r.Status.Primary).Annotations["cache.example.com/boot-role"])
}
