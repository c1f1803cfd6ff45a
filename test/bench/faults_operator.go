package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// operatorFaults are those of the operator and of the API server. Clients must notice nothing of most of them.
func operatorFaults() []*fault {
	const slowly = 10 * time.Millisecond // these runs last minutes
	return []*fault{
		{
			name: "primary-cut-from-operator-and-api", says: "the primary's machine does not reach operator and API server; clients and replicas do reach it",
			bar: plannedBar, runs: 1, pace: slowly, local: true, strike: cutFromOperator,
		},
		{name: "operator-killed", says: "SIGKILL of the operator that leads", bar: plannedBar, strike: operatorKilled},
		{name: "api-down", says: "the API server's process is stopped", bar: plannedBar, runs: 3, pace: slowly, local: true, strike: apiDown},
		{
			name: "operator-and-primary-one-node", says: "the machine of the primary and of the operator that leads dies",
			bar: silenceBar, local: true, strike: operatorAndPrimaryDie,
		},
	}
}

// cutFromOperator leaves the primary to its replicas and clients, for longer than Kubernetes waits before it replaces the pod.
func cutFromOperator(ctx context.Context, r *run) error {
	node := r.primary.Spec.NodeName
	if err := r.kube.leadElsewhere(ctx, node); err != nil {
		return err
	}
	peers, err := r.peers(ctx)
	if err != nil {
		return err
	}
	api, err := r.kube.apiHost()
	if err != nil {
		return err
	}
	heal := r.undo.add("heal "+node, func(context.Context) error { return r.kube.local.unfilter(node) })
	r.now()
	if err := r.kube.local.filter(node, r.primary.Status.PodIP, peers, api); err != nil {
		return err
	}
	if err := pause(ctx, r.settings.cut); err != nil {
		return err
	}
	now, err := r.get(ctx)
	if err != nil {
		return err
	}
	r.keeps(now)
	// What comes now is planned: a pod that Kubernetes has deleted meanwhile is moved away from.
	if err := heal(ctx); err != nil {
		return err
	}
	_, err = r.awaitRunning(ctx)
	return err
}

// peers are the addresses that may reach the primary: of its replicas and of the clients.
func (r *run) peers(ctx context.Context) ([]string, error) {
	var peers []string
	for _, replica := range r.replicas {
		peers = append(peers, replica.Status.PodIP)
	}
	outpost, err := r.outposts.pod(ctx, r.node)
	if err != nil {
		return nil, err
	}
	return append(peers, outpost.Status.PodIP), nil
}

func operatorKilled(ctx context.Context, r *run) error {
	leader, err := r.kube.leader(ctx)
	if err != nil {
		return err
	}
	before, err := r.kube.leaderIdentity(ctx)
	if err != nil {
		return err
	}
	if err := r.kill(ctx, leader); err != nil {
		return err
	}
	if err := poll(ctx, "another process of the operator leads", settling, func(ctx context.Context) error {
		now, err := r.kube.leaderIdentity(ctx)
		if err == nil && now == before {
			err = fmt.Errorf("it is still %s", now)
		}
		if err != nil {
			return err
		}
		return r.kube.operatorReady(ctx)
	}); err != nil {
		return err
	}
	now, err := r.awaitRunning(ctx)
	r.keeps(now)
	if err != nil {
		return err
	}
	return r.renewOperator(ctx, leader)
}

// renewOperator replaces a pod of the operator that was killed, for the reason that is given at renew.
func (r *run) renewOperator(ctx context.Context, killed *corev1.Pod) error {
	if err := r.kube.Delete(ctx, killed); err != nil {
		return err
	}
	return poll(ctx, "the operator is ready again", settling, r.kube.operatorReady)
}

func apiDown(ctx context.Context, r *run) error {
	goOn := r.undo.add("let the API server go on", func(context.Context) error { return r.kube.local.pauseAPI(false) })
	r.now()
	if err := r.kube.local.pauseAPI(true); err != nil {
		return err
	}
	if err := pause(ctx, r.settings.apiDown); err != nil {
		return err
	}
	if err := goOn(ctx); err != nil {
		return err
	}
	if err := poll(ctx, "the operator is ready again", settling, r.kube.operatorReady); err != nil {
		return err
	}
	now, err := r.awaitRunning(ctx)
	r.keeps(now)
	return err
}

func operatorAndPrimaryDie(ctx context.Context, r *run) error {
	node := r.primary.Spec.NodeName
	if err := r.kube.leadOn(ctx, node, r.undo); err != nil {
		return err
	}
	if err := r.crash(ctx, node); err != nil {
		return err
	}
	return poll(ctx, "the operator is ready again", settling, r.kube.operatorReady)
}
