//go:build e2e

package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	cachev1 "example.com/redis-operator/api/v1"
)

// TestStatusWiped: a status that is lost is written again from what is true. The primary stays, the pods stay, and the
// clients notice nothing.
func TestStatusWiped(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	before := p.started(p.redis("r", 3))
	processes := p.processes("r")
	w := p.newWriter(p.service("r", ""), "key")
	w.awaitMore(10)
	for range 3 {
		p.wipeStatus("r")
		p.adopted("r", before)
		w.awaitMore(10)
	}
	for _, one := range w.stop() {
		require.Regexp(t, `^OK \d+$`, one.reply, "write %d", one.number)
	}
	require.Equal(t, processes, p.processes("r"))
	p.onePrimary("r", "")
	for _, pod := range before.Status.Nodes {
		w.mustBeOn(p.node(pod, ""))
	}
}

// TestStatusWipedWhileAway is the same for an operator that starts anew and remembers nothing.
func TestStatusWipedWhileAway(t *testing.T) {
	p := newPlace(t)
	before := p.started(p.redis("r", 3))
	processes := p.processes("r")
	service := p.service("r", "")
	p.answers(service, "OK", "SET", "k", "v")
	back := withoutOperator(t)
	p.wipeStatus("r")
	p.answers(service, "v", "GET", "k")
	back()
	p.adopted("r", before)
	require.Equal(t, processes, p.processes("r"))
	p.onePrimary("r", "")
	p.answers(service, "v", "GET", "k")
}

func (p *place) wipeStatus(name string) {
	p.t.Helper()
	kubectl(p.t, p.name, "patch", "rediscluster", name, "--subresource=status", "--type=merge", "-p", `{"status":null}`)
}

// adopted waits for a new status that names the same primary.
func (p *place) adopted(name string, before *cachev1.RedisCluster) {
	p.t.Helper()
	after := p.awaitStatus(name, "Running, with a claim", func(r *cachev1.RedisCluster) error {
		if r.Status.Claim == nil {
			return fmt.Errorf("no claim")
		}
		return runs(r)
	})
	require.Equal(p.t, before.Status.Primary, after.Status.Primary)
	require.Equal(p.t, before.Status.Nodes, after.Status.Nodes)
	require.Equal(p.t, before.Status.Primary, after.Status.Claim.Primary.Name)
}
