package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	operatorNamespace = "redis-operator-system"
	operatorName      = "redis-operator"
	operatorLease     = "redis-operator.cache.example.com"
)

// operatorReady is nil when all pods of the operator are ready, and one of them leads.
func (c *cluster) operatorReady(ctx context.Context) error {
	var d appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &d); err != nil {
		return err
	}
	if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != *d.Spec.Replicas || d.Status.Replicas != *d.Spec.Replicas {
		return fmt.Errorf("%d of %d pods of the operator are ready", d.Status.ReadyReplicas, *d.Spec.Replicas)
	}
	_, err := c.leader(ctx)
	return err
}

// leaderIdentity is of the operator's process that leads: its pod's name and a part that is new with each start.
func (c *cluster) leaderIdentity(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, &lease); err != nil {
		return "", err
	}
	identity := ptr.Deref(lease.Spec.HolderIdentity, "")
	if identity == "" {
		return "", errors.New("no operator leads")
	}
	return identity, nil
}

// leader is the pod of the operator that acts.
func (c *cluster) leader(ctx context.Context) (*corev1.Pod, error) {
	identity, err := c.leaderIdentity(ctx)
	if err != nil {
		return nil, err
	}
	holder, _, _ := strings.Cut(identity, "_")
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: holder}, &pod); err != nil {
		return nil, fmt.Errorf("the operator that leads: %w", err)
	}
	return &pod, nil
}

func (c *cluster) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": operatorName})
	return pods.Items, err
}

// leadElsewhere sees to it that the operator that leads is not on some node, so that what happens to that node is the only fault.
func (c *cluster) leadElsewhere(ctx context.Context, node string) error {
	return poll(ctx, "the operator that leads is not on "+node, settling, func(ctx context.Context) error {
		if err := c.operatorReady(ctx); err != nil {
			return err
		}
		leader, err := c.leader(ctx)
		if err != nil || leader.Spec.NodeName != node {
			return err
		}
		if err := c.Delete(ctx, leader); err != nil {
			return err
		}
		return errors.New("it was just deleted, for the standby to take over")
	})
}

// leadOn sees to it that the operator that leads is on a node, and the standby is not.
func (c *cluster) leadOn(ctx context.Context, node string, undo *undos) error {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return err
	}
	undo.add("uncordon the other nodes", c.uncordonAll)
	return poll(ctx, "the operator that leads is on "+node, settling, func(ctx context.Context) error {
		if err := c.operatorReady(ctx); err != nil {
			return err
		}
		leader, err := c.leader(ctx)
		if err != nil {
			return err
		}
		pods, err := c.operatorPods(ctx)
		if err != nil {
			return err
		}
		var standby *corev1.Pod
		for i := range pods {
			if pods[i].Name != leader.Name {
				standby = &pods[i]
			}
		}
		switch {
		case standby == nil:
			return errors.New("there is no standby")
		case leader.Spec.NodeName == node && standby.Spec.NodeName != node:
			return c.uncordonAll(ctx)
		case leader.Spec.NodeName == node: // both are; the next one goes elsewhere
			return errors.Join(c.Delete(ctx, standby), errors.New("the standby has to move"))
		case standby.Spec.NodeName == node:
			return errors.Join(c.uncordonAll(ctx), c.Delete(ctx, leader), errors.New("the standby has to take over"))
		}
		// The next standby can go nowhere else.
		for _, other := range nodes {
			if other != node {
				if err := c.cordon(ctx, other, true); err != nil {
					return err
				}
			}
		}
		return errors.Join(c.Delete(ctx, standby), errors.New("the standby has to move"))
	})
}
