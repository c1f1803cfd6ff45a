package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// cutFor is how long a node is without network: long enough to see both sides come to rest, shorter than Kubernetes waits before
// it calls the node unreachable.
const cutFor = 20 * time.Second

// machineFaults are those of nodes and their network.
func machineFaults() []*fault {
	return []*fault{
		{name: "node-dies", says: "the primary's machine dies at once: network and processes", bar: silenceBar, local: true, strike: nodeDies},
		{name: "node-cut", says: "the primary's machine is cut off for 20 s, with clients on both sides", bar: silenceBar, local: true, strike: nodeCut},
		{
			name: "force-delete-on-cut-node", says: "the same, and the primary's pod is deleted without grace: its process lives on",
			bar: silenceBar, local: true, strike: forceDeleteOnCutNode,
		},
		{
			name: "primary-dead-one-replica-unreachable", says: "SIGKILL of the primary while a replica's machine is cut off: Safe waits, names it, and goes on when it is back",
			bar: crashBar, resumed: true, local: true, strike: func(ctx context.Context, r *run) error { return deadAndUnreachable(ctx, r, true) },
		},
		{
			name: "primary-dead-one-replica-unreachable-best-effort", says: "the same under BestEffort, which goes on at once",
			policy: cachev1.FailoverBestEffort, bar: crashBar, local: true,
			strike: func(ctx context.Context, r *run) error { return deadAndUnreachable(ctx, r, false) },
		},
	}
}

// served waits a while for acknowledgements, and notes it if there are none: the run then goes on and undoes its fault.
func (r *run) served(ctx context.Context, within time.Duration) error {
	err := r.plainMore(ctx, 100, within)
	if err != nil && ctx.Err() == nil {
		r.unmet("no acknowledgements within %s", within)
		return nil
	}
	return err
}

// plainMore waits for acknowledgements of the plain clients: whether replicas confirm is seen at the end of the run.
func (r *run) plainMore(ctx context.Context, count int, within time.Duration) error {
	plain := *r.writer
	plain.unconfirmed = true
	return plain.more(ctx, count, within)
}

func nodeDies(ctx context.Context, r *run) error {
	node := r.primary.Spec.NodeName
	if err := r.kube.leadElsewhere(ctx, node); err != nil {
		return err
	}
	return r.crash(ctx, node)
}

// crash lets the primary's node die, and starts it again once another primary serves.
func (r *run) crash(ctx context.Context, node string) error {
	restore := r.undo.add("restore "+node, func(context.Context) error { return r.kube.local.run("restore", node) })
	if err := r.kube.local.run("crash", node); err != nil {
		return err
	}
	r.now()
	if err := r.served(ctx, 3*silenceBar.far); err != nil {
		return err
	}
	if err := restore(ctx); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx, r.restartedOrGone(r.primary))
	return err
}

// restartedOrGone holds once a pod runs another process, or has been replaced.
func (r *run) restartedOrGone(pod *corev1.Pod) func(context.Context, *cachev1.RedisCluster) error {
	return func(ctx context.Context, now *cachev1.RedisCluster) error {
		if gone(pod.Name)(ctx, now) == nil {
			return nil
		}
		return r.restarted(pod)(ctx, now)
	}
}

func nodeCut(ctx context.Context, r *run) error {
	return r.cutPrimary(ctx, func(context.Context) error { return nil })
}

func forceDeleteOnCutNode(ctx context.Context, r *run) error {
	return r.cutPrimary(ctx, func(ctx context.Context) error {
		return r.kube.Delete(ctx, r.primary, client.GracePeriodSeconds(0))
	})
}

// cutPrimary cuts the primary's machine off, with a client on it.
func (r *run) cutPrimary(ctx context.Context, meanwhile func(ctx context.Context) error) (err error) {
	node := r.primary.Spec.NodeName
	if err := r.kube.leadElsewhere(ctx, node); err != nil {
		return err
	}
	if r.oldSide, err = r.start(ctx, node, "old"); err != nil {
		return err
	}
	if err := r.oldSide.more(ctx, 500, time.Minute); err != nil {
		return err
	}
	heal, err := r.cut(ctx, node)
	if err != nil {
		return err
	}
	began := time.Now()
	r.now()
	if err := meanwhile(ctx); err != nil {
		return err
	}
	if err := r.served(ctx, 3*silenceBar.far); err != nil {
		return err
	}
	if err := pause(ctx, cutFor-time.Since(began)); err != nil {
		return err
	}
	r.now()
	if err := heal(ctx); err != nil {
		return err
	}
	if _, err := r.awaitRunning(ctx); err != nil {
		return err
	}
	return r.oldSide.more(ctx, 100, settling)
}

// cut unplugs a node.
func (r *run) cut(_ context.Context, node string) (heal func(ctx context.Context) error, err error) {
	heal = r.undo.add("heal "+node, func(context.Context) error { return r.kube.local.run("heal", node) })
	return heal, r.kube.local.run("cut", node)
}

// deadAndUnreachable kills the primary right after one of two replicas was cut off, before that can have been let go.
func deadAndUnreachable(ctx context.Context, r *run, waits bool) error {
	missing, err := r.replicaToCut(ctx)
	if err != nil {
		return err
	}
	spared, err := r.spared(ctx, r.primary.Spec.NodeName, missing.Spec.NodeName)
	if err != nil {
		return err
	}
	if err := r.move(ctx, spared); err != nil {
		return err
	}
	heal, err := r.cut(ctx, missing.Spec.NodeName)
	if err != nil {
		return err
	}
	if err := r.kill(ctx, r.primary); err != nil {
		return err
	}
	if waits {
		if err := r.waitsFor(ctx, missing.Name); err != nil {
			return err
		}
		r.now()
	} else if err := r.served(ctx, 3*silenceBar.far); err != nil {
		return err
	}
	if err := heal(ctx); err != nil {
		return err
	}
	_, err = r.awaitRunning(ctx, anotherPrimary(r.primary.Name))
	return err
}

// replicaToCut is a replica on a machine of its own, and without the operator that leads.
func (r *run) replicaToCut(ctx context.Context) (*corev1.Pod, error) {
	leader, err := r.kube.leader(ctx)
	if err != nil {
		return nil, err
	}
	for i, pod := range r.replicas {
		other := r.replicas[(i+1)%len(r.replicas)].Spec.NodeName
		if node := pod.Spec.NodeName; node != leader.Spec.NodeName && node != r.primary.Spec.NodeName && node != other {
			return pod, nil
		}
	}
	return nil, errors.New("no replica has a machine of its own without the operator that leads")
}

// waitsFor holds the operator to waiting, and to saying for whom.
func (r *run) waitsFor(ctx context.Context, missing string) error {
	said := poll(ctx, "the resource says that it waits for "+missing, 15*time.Second, func(ctx context.Context) error {
		now, err := r.get(ctx)
		if err != nil {
			return err
		}
		return degraded(now, cachev1.ReasonReplicasUnaccounted, missing)
	})
	if said != nil && ctx.Err() == nil {
		r.unmet("%v", said)
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	if r.plainMore(ctx, 1, time.Second) == nil {
		r.broken = append(r.broken, "it did not wait for "+missing)
	}
	return ctx.Err()
}

// apiHost is where the API server listens.
func (c *cluster) apiHost() (string, error) {
	address, err := url.Parse(c.config.Host)
	if err == nil && address.Hostname() == "" {
		err = fmt.Errorf("no host in the API server's address %q", c.config.Host)
	}
	if err != nil {
		return "", err
	}
	return address.Hostname(), nil
}
