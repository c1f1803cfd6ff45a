package report_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestDegraded(t *testing.T) {
	waiting := func(reason, message string) *given.Cluster {
		return given.Replicated(2).Primary("a").Creating("b", given.Container(state.Container{Waiting: reason, WaitingMessage: message}))
	}
	crashed := given.Container(state.Container{Running: true, Restarts: 3, LastEnd: "OOMKilled, exit code 137"})
	refused := given.Container(state.Container{Ended: true, LastEnd: "Error, exit code 1", ExitCode: 1})
	settings := func(s *state.Snapshot) { s.Want.Spec.Config = map[string]cachev1.ConfigValue{"nosuch": "1"} }
	conflict := &plan.NameConflictError{Kind: "Service", Name: "r"}
	for name, c := range map[string]struct {
		given   *given.Cluster
		outcome []plan.StepOutcome
		want    string
	}{
		"no node takes a pod": {
			given: given.Replicated(2).Primary("a").Creating("b", given.Unschedulable("0/3 nodes are available")),
			want:  "PodUnschedulable: pod b: no node takes it: 0/3 nodes are available",
		},
		"an image is not there": {
			given: waiting("ErrImagePull", "not found"),
			want:  `PodCannotStart: pod b: image "redis:7.0" cannot be pulled: not found`,
		},
		"a container cannot be made": {
			given: waiting("CreateContainerConfigError", `secret "x" not found`),
			want:  `PodCannotStart: pod b: CreateContainerConfigError: secret "x" not found`,
		},
		"a container that is about to start is nothing": {
			given: waiting("ContainerCreating", ""),
			want:  "Healthy: nothing stands in the way",
		},
		"a pod that is being deleted is nothing": {
			given: given.Replicated(2).Primary("a").Creating("b", given.Terminating(), given.Unschedulable("x")),
			want:  "Healthy: nothing stands in the way",
		},
		"a container ends again and again": {
			given: given.Replicated(2).Primary("a").Started("b", crashed),
			want:  "PodCrashing: pod b: its container ends again and again (OOMKilled, exit code 137); see kubectl logs b --previous",
		},
		"one that did so and serves now is nothing": {
			given: given.Replicated(2).Primary("a").Replica("b", crashed),
			want:  "Healthy: nothing stands in the way",
		},
		"a container ends before it ever was ready": {
			given: given.Replicated(2).Primary("a").Creating("b", refused),
			want:  "PodCrashing: pod b: its container ended before it ever was ready (Error, exit code 1); see kubectl logs b --previous",
		},
		"a container ends before it ever was ready, and there are settings": {
			given: given.Replicated(2).Primary("a").Creating("b", refused).With(settings),
			want: "PodCrashing: pod b: its container ended before it ever was ready (Error, exit code 1): a setting in spec.config that " +
				"Redis does not take, mostly; see kubectl logs b --previous",
		},
		"the same after its third restart": {
			given: given.Replicated(2).Primary("a").Creating("b", refused, func(n *state.Node) { n.Pod.Container.Restarts = 3 }).With(settings),
			want: "PodCrashing: pod b: its container ends again and again (Error, exit code 1): a setting in spec.config that " +
				"Redis does not take, mostly; see kubectl logs b --previous",
		},
		"for want of memory no setting is suspected": {
			given: given.Replicated(2).Primary("a").Started("b", crashed).With(settings),
			want:  "PodCrashing: pod b: its container ends again and again (OOMKilled, exit code 137); see kubectl logs b --previous",
		},
		"one that ended before it ever was ready and answers now is nothing": {
			given: given.Replicated(2).Primary("a").Started("b", refused).With(settings),
			want:  "Healthy: nothing stands in the way",
		},
		"one that ended by itself is nothing": {
			given: given.Replicated(2).Primary("a").Creating("b", given.Container(state.Container{Ended: true, LastEnd: "Completed, exit code 0"})),
			want:  "Healthy: nothing stands in the way",
		},
		"one end of a container that has served is nothing": {
			given: given.Replicated(2).Primary("a").Replica("b", refused, given.Silent(0)).With(settings),
			want:  "Healthy: nothing stands in the way",
		},
		"Kubernetes creates no pods": {
			given: given.Replicated(2).Primary("a").With(replicaFailure),
			want:  "PodsNotCreated: pods are not created: exceeded quota",
		},
		"an object is someone else's, as a step found out": {
			given:   given.Replicated(1).Primary("a"),
			outcome: []plan.StepOutcome{failed(fmt.Errorf("wrapped: %w", conflict))},
			want:    "NameConflict: " + conflict.Error(),
		},
		"a step failed": {
			given:   given.Replicated(1).Primary("a"),
			outcome: []plan.StepOutcome{failed(errors.New("forbidden"))},
			want:    "StepFailed: cannot create the seed: forbidden",
		},
		"the gravest gives the reason, and all are told": {
			given:   waiting("ErrImagePull", "not found").With(replicaFailure).With(func(s *state.Snapshot) { s.Want.Access.Missing = "no Secret p" }),
			outcome: []plan.StepOutcome{failed(errors.New("forbidden"))},
			want: `SecretMissing: no Secret p; pod b: image "redis:7.0" cannot be pulled: not found; pods are not created: exceeded quota; ` +
				"cannot create the seed: forbidden",
		},
	} {
		t.Run(name, func(t *testing.T) {
			status := report.Status(of(c.given, c.outcome...))
			got := meta.FindStatusCondition(status.Conditions, cachev1.ConditionDegraded)
			assert.Equal(t, c.want, got.Reason+": "+got.Message)
			if got.Reason != cachev1.ReasonHealthy {
				assert.Equal(t, cachev1.PhaseDegraded, status.Phase)
			}
		})
	}
}

func failed(err error) plan.StepOutcome {
	return plan.StepOutcome{Result: plan.Failed, Step: plan.Step{Action: plan.CreateSeed{}}, Err: err}
}

func replicaFailure(s *state.Snapshot) {
	s.Objects.Workload = s.Objects.Workload.DeepCopy()
	s.Objects.Workload.Status.Conditions = []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"},
	}
}

// The kubelet's words as they alternate, from a real one (1.37, containerd): a text that followed them would be a status write
// every few seconds, for ever.
func TestAFailedPullIsToldTheSameWayAtEveryTry(t *testing.T) {
	cause := `failed to pull and unpack image "docker.io/library/redis:nosuch": not found`
	var messages []string
	for _, words := range [][2]string{
		{"ErrImagePull", cause},
		{"ImagePullBackOff", `Back-off pulling image "redis:nosuch": ErrImagePull: ` + cause},
	} {
		status := report.Status(of(given.Replicated(1).Creating("a", given.Container(state.Container{Waiting: words[0], WaitingMessage: words[1]}))))
		got := meta.FindStatusCondition(status.Conditions, cachev1.ConditionDegraded)
		assert.Equal(t, cachev1.ReasonPodCannotStart, got.Reason)
		messages = append(messages, got.Message)
	}
	assert.Equal(t, messages[0], messages[1])
}
