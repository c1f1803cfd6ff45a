package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// stopped is how long a process that is stopped stays so.
const stopped = 30 * time.Second

// processFaults are those of processes and pods.
func processFaults() []*fault {
	return []*fault{
		{name: "kill-primary", says: "SIGKILL of the primary's process", bar: crashBar, strike: killPrimary},
		{name: "kill-primary-stale-dump", says: "the same, with an old dump.rdb in its directory", bar: crashBar, strike: killPrimaryWithDump},
		{name: "delete-primary-pod", says: "kubectl delete pod of the primary", bar: plannedBar, strike: deletePrimary},
		{name: "stop-primary", says: "SIGSTOP of the primary for 30 s, then SIGCONT", bar: silenceBar, strike: stopPrimary},
		{name: "kill-replica", says: "SIGKILL of a replica's process", bar: plannedBar, strike: func(ctx context.Context, r *run) error {
			return killReplicas(ctx, r, 1)
		}},
		{name: "kill-both-replicas", says: "SIGKILL of both replicas at once", bar: crashBar, strike: func(ctx context.Context, r *run) error {
			return killReplicas(ctx, r, 2)
		}},
		// The primary stops acknowledging at max lag if the replica has not been let go before.
		{name: "stop-replica-size-2", says: "SIGSTOP of the only replica for 30 s, then SIGCONT", size: 2, bar: plannedBar, strike: stopReplica},
		{
			name: "kill-all-pods", says: "SIGKILL of all processes at once: the data is lost, and an event says so",
			bar: bar{15 * time.Second, 15 * time.Second}, loses: true, strike: killAll,
		},
	}
}

// kill ends processes of pods at once, those of one node in the same moment. The fault begins with the first.
func (r *run) kill(ctx context.Context, pods ...*corev1.Pod) error {
	byNode := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		byNode[pod.Spec.NodeName] = append(byNode[pod.Spec.NodeName], pod)
	}
	type killed struct {
		moment time.Time
		err    error
	}
	all := make(chan killed, len(byNode))
	for _, there := range byNode {
		go func() {
			moment, err := r.outposts.signal(ctx, "KILL", there...)
			all <- killed{moment, err}
		}()
	}
	var first time.Time
	var problems []error
	for range byNode {
		one := <-all
		problems = append(problems, one.err)
		if first.IsZero() || one.moment.Before(first) {
			first = one.moment
		}
	}
	r.moments = append(r.moments, first)
	return errors.Join(problems...)
}

func killPrimary(ctx context.Context, r *run) error {
	if err := r.kill(ctx, r.primary); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx, anotherPrimary(r.primary.Name))
	return err
}

const staleKey = "stale"

// makeDump lets a second server in the pod save a dump with an old key, where the first one would load it at its next start.
const makeDump = `set -e
redis-server --port 7777 --bind 127.0.0.1 --dir /data --dbfilename dump.rdb --save "" --daemonize yes >/dev/null
until redis-cli -p 7777 PING >/dev/null 2>&1; do sleep 0.1; done
redis-cli -p 7777 SET "$0" old >/dev/null
redis-cli -p 7777 SAVE >/dev/null
redis-cli -p 7777 SHUTDOWN NOSAVE
test -s /data/dump.rdb`

func killPrimaryWithDump(ctx context.Context, r *run) error {
	if _, err := r.kube.exec(ctx, client.ObjectKeyFromObject(r.primary), nil, "sh", "-c", makeDump, staleKey); err != nil {
		return fmt.Errorf("make an old dump: %w", err)
	}
	r.absent = append(r.absent, staleKey)
	return killPrimary(ctx, r)
}

func deletePrimary(ctx context.Context, r *run) error {
	r.now()
	if err := r.kube.Delete(ctx, r.primary); err != nil {
		return err
	}
	_, err := r.awaitRunning(ctx, gone(r.primary.Name))
	return err
}

// stop stops the process of a pod, and lets it go on after a while.
func (r *run) stop(ctx context.Context, pod *corev1.Pod) error {
	goOn := r.undo.add("let "+pod.Name+" go on", func(ctx context.Context) error {
		_, err := r.outposts.signal(ctx, "CONT", pod)
		return err
	})
	moment, err := r.outposts.signal(ctx, "STOP", pod)
	if err != nil {
		return err
	}
	r.moments = append(r.moments, moment)
	if err := pause(ctx, stopped); err != nil {
		return err
	}
	r.now()
	return goOn(ctx)
}

func stopPrimary(ctx context.Context, r *run) error {
	if err := r.stop(ctx, r.primary); err != nil {
		return err
	}
	now, err := r.awaitRunning(ctx)
	if err == nil && now.Status.Primary == r.primary.Name {
		r.unmet("the stopped primary was not replaced")
	}
	return err
}

func killReplicas(ctx context.Context, r *run, count int) error {
	if err := r.kill(ctx, r.replicas[:count]...); err != nil {
		return err
	}
	now, err := r.awaitRunning(ctx, r.restarted(r.replicas[:count]...))
	r.keeps(now)
	return err
}

func stopReplica(ctx context.Context, r *run) error {
	if err := r.stop(ctx, r.replicas[0]); err != nil {
		return err
	}
	now, err := r.awaitRunning(ctx)
	r.keeps(now)
	return err
}

// keeps notes it if the primary has changed though nothing was wrong with it. The status names none while the operator does not
// reach it, the claim does.
func (r *run) keeps(now *cachev1.RedisCluster) {
	if claim := now.Status.Claim; claim == nil || claim.Primary.UID != r.primary.UID {
		r.unmet("the primary changed without need")
	}
}

func killAll(ctx context.Context, r *run) error {
	before, err := r.events(ctx, "DataLost")
	if err != nil {
		return err
	}
	pods := append([]*corev1.Pod{r.primary}, r.replicas...)
	if err := r.kill(ctx, pods...); err != nil {
		return err
	}
	if _, err := r.awaitRunning(ctx, r.restarted(pods...)); err != nil {
		return err
	}
	after, err := r.events(ctx, "DataLost")
	if after != before+1 {
		r.unmet("%d events DataLost in place of one", after-before)
	}
	return err
}
