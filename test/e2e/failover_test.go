//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPrimaryLost loses the primary in several ways, while a client writes through the Service: nothing that a replica
// confirmed is lost, and the writes go on.
func TestPrimaryLost(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name  string
		times int
		lose  func(p *place, primary string)
	}{
		// Twice: the second time the nodes have a history.
		{"its process is killed", 2, func(p *place, primary string) { killProcess(p.t, p.pod(primary)) }},
		{"its pod is deleted", 2, func(p *place, primary string) { p.delete(p.pod(primary)) }},
		// Whether its process ended is then not known for a while (see state.TerminationGrace).
		{"its pod is deleted without grace", 1, func(p *place, primary string) {
			p.delete(p.pod(primary), client.GracePeriodSeconds(0))
		}},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.started(p.redis("r", 3))
			executionerOn(t, p.pod(r.Status.Primary).Spec.NodeName)
			service := p.service("r", "")
			w := p.newWriter(service, "key")
			w.awaitMore(50)
			for range way.times {
				before := p.get("r").Status.Primary
				way.lose(p, before)
				r = p.awaitAnotherPrimary("r", before)
				w.awaitMore(50)
				p.onePrimary("r", "")
			}
			writes := w.stop()
			t.Logf("%d writes, %d confirmed, the longest gap was %s", len(writes), len(w.confirmed()), longestGap(writes))
			w.mustBeOn(service)
			for _, pod := range r.Status.Nodes {
				w.mustBeOn(p.node(pod, ""))
			}
		})
	}
}

// TestReplicaLost loses a replica's process: it comes back with the data, and the writes never notice.
func TestReplicaLost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	r := p.started(p.redis("r", 2))
	replica := p.replicasOf(r)[0]
	executionerOn(t, p.pod(replica).Spec.NodeName)
	service := p.service("r", "")
	w := p.newWriter(service, "key")
	w.awaitMore(20)
	process := processOf(p.pod(replica))
	killProcess(t, p.pod(replica))
	await(t, "the replica's process is another", settling, func(context.Context) error {
		if processOf(p.pod(replica)) == process {
			return fmt.Errorf("it is %s", process)
		}
		return nil
	})
	w.awaitMore(20)
	after := p.awaitRunning("r")
	require.Equal(t, r.Status.Primary, after.Status.Primary)
	require.Equal(t, r.Status.Nodes, after.Status.Nodes)
	p.onePrimary("r", "")
	for _, one := range w.stop() {
		// The primary refuses what the lost replica had to confirm, until the operator demands fewer.
		require.Regexp(t, `^(OK|NOREPLICAS Not enough good replicas to write\.) +\d+$`, one.reply, "write %d", one.number)
	}
	w.mustBeOn(p.node(replica, ""))
}
