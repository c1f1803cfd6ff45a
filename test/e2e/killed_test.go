//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestOperatorKilledAnywhere kills the operator at many moments of creations, scalings and deletions. Whatever was half done,
// the next one makes of it what was asked for, and nothing is lost.
//
// The operators run outside the cluster, since Kubernetes would wait longer and longer before it starts one again that dies.
func TestOperatorKilledAnywhere(t *testing.T) {
	const rounds, kills = 4, 3
	p := newPlace(t)
	kept := p.started(p.redis("kept", 2))
	p.answers(p.service("kept", ""), "OK", "SET", "k", "v")
	program := builtOperator(t, nil)
	kubeconfig := kubeconfigFor(t, kube.config, "")
	withoutOperator(t)
	size := kept.Spec.Size
	for round := range rounds {
		born, dead := fmt.Sprintf("born%d", round), fmt.Sprintf("born%d", round-1)
		p.create(p.redis(born, 2))
		size = 5 - size // 3, 2, 3, ...
		p.resize("kept", size)
		if round > 0 {
			p.delete(p.redis(dead, 0))
		}
		for kill := range kills {
			// All moments from 0 to 2.75 s in steps of 0.25 s, early and late ones by turns.
			moment := time.Duration((round*kills+kill)*7%(rounds*kills)) * 250 * time.Millisecond
			operator := run(t, program, kubeconfig)
			operator.awaitWorking()
			select {
			case <-time.After(moment):
			case <-operator.ended:
				t.Fatal("the operator ended by itself")
			}
			operator.kill()
		}
		operator := run(t, program, kubeconfig)
		for _, name := range []string{"kept", born} {
			p.awaitRunning(name)
			p.onePrimary(name, "")
			p.awaitAnswer(p.service(name, ""), "OK", "SET", "round", fmt.Sprint(round))
		}
		p.answers(p.service("kept", ""), "v", "GET", "k")
		await(t, dead+" is gone", settling, func(ctx context.Context) error {
			for _, object := range p.inventory(ctx) {
				if strings.Contains(object, " "+dead) {
					return fmt.Errorf("%s still exists", object)
				}
			}
			return nil
		})
		operator.kill()
	}
}

// TestStandbyTakesOver kills the operator that leads, in the middle of a creation; whoever gets the lease next finishes it: the
// standby, or the one that Kubernetes starts in the place of the one killed.
func TestStandbyTakesOver(t *testing.T) {
	p := newPlace(t)
	leader, err := kube.leader(t.Context())
	require.NoError(t, err)
	killed, err := kube.leaderIdentity(t.Context())
	require.NoError(t, err)
	executionerOn(t, leader.Spec.NodeName)
	p.create(p.redis("r", 3))
	await(t, "the operator has begun", settling, func(context.Context) error {
		if len(p.pods("r")) == 0 {
			return fmt.Errorf("no pods yet")
		}
		return nil
	})
	killProcess(t, leader)
	p.awaitRunning("r")
	p.onePrimary("r", "")
	p.answers(p.service("r", ""), "OK", "SET", "k", "v")
	await(t, "another process leads", settling, func(ctx context.Context) error {
		now, err := kube.leaderIdentity(ctx)
		if err == nil && now == killed {
			err = fmt.Errorf("the lease is still %s's", now)
		}
		return err
	})
	// A new pod in the place of the one whose container ended: the kubelet makes it wait longer each time.
	require.NoError(t, kube.Delete(t.Context(), leader))
	await(t, "both operators are ready", settling, kube.operatorReady)
}
