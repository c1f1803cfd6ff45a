package report

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// ready is True when the primary serves and all wanted nodes, and no others, run what spec asks for with its data.
func ready(in Input) metav1.Condition {
	s := in.Snapshot
	reason, message := unfinished(s)
	if reason == "" {
		return condition(cachev1.ConditionReady, true, cachev1.ReasonAllNodesInSync, fmt.Sprintf("%d of %d nodes serve", s.Want.Spec.Size, s.Want.Spec.Size))
	}
	return condition(cachev1.ConditionReady, false, reason, message)
}

// unfinished is what is still missing to the wanted state; an empty reason means nothing is.
func unfinished(s *state.Snapshot) (reason, message string) {
	size := s.Want.Spec.Size
	switch {
	case s.Want.Access.Missing != "":
		return cachev1.ReasonSecretMissing, s.Want.Access.Missing // whatever serves, it is not with the password that spec asks for
	case s.Serving() == nil:
		return cachev1.ReasonNoPrimary, strings.TrimSuffix("no primary serves; "+waitingFor(s), "; ")
	case rollingOut(s) && !resizing(s):
		return cachev1.ReasonRollingOut, strings.TrimSuffix("pods are being replaced after a change; "+waitingFor(s), "; ")
	case len(s.Nodes) != int(size):
		return cachev1.ReasonScaling, fmt.Sprintf("there are %d pods, and %d are wanted", len(s.Nodes), size)
	case s.SettledReplicas() != size:
		return cachev1.ReasonNodesNotReady, waitingFor(s)
	}
	return "", ""
}

// waitingFor names the nodes that do not yet serve, each with why.
func waitingFor(s *state.Snapshot) string {
	var parts []string
	for i := range s.Nodes {
		n := &s.Nodes[i]
		serves, why := s.Serves(n)
		switch {
		case n.Pod.Terminating:
			parts = append(parts, n.Pod.Name+": is being deleted")
		case !serves:
			parts = append(parts, n.Pod.Name+": "+why)
		case !n.Pod.ContainersReady:
			parts = append(parts, n.Pod.Name+": serves, and its readiness probe has not succeeded yet")
		}
	}
	return strings.Join(parts, "; ")
}

// rollingOut tells whether pods of an older template remain, or the workload has not yet looked at its newest one.
func rollingOut(s *state.Snapshot) bool {
	w := s.Objects.Workload
	return w != nil && (w.Status.ObservedGeneration < w.Generation || w.Status.Replicas > w.Status.UpdatedReplicas)
}

// resizing tells whether the workload has, or is still asked for, another number of pods.
func resizing(s *state.Snapshot) bool {
	w := s.Objects.Workload
	return w != nil && w.Spec.Replicas != nil && *w.Spec.Replicas != w.Status.Replicas && w.Status.Replicas <= w.Status.UpdatedReplicas
}
