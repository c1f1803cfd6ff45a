package report

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// problem is one thing that stands in the way and does not pass by itself.
type problem struct{ reason, message string }

// degraded is True when something stands in the way that does not pass by itself. The gravest gives the reason; all are told.
func degraded(in Input) metav1.Condition {
	problems := problemsOf(in)
	if len(problems) == 0 {
		return condition(cachev1.ConditionDegraded, false, cachev1.ReasonHealthy, "nothing stands in the way")
	}
	messages := make([]string, 0, len(problems))
	for _, p := range problems {
		messages = append(messages, p.message)
	}
	return condition(cachev1.ConditionDegraded, true, problems[0].reason, strings.Join(messages, "; "))
}

// problemsOf lists the problems, gravest first: what blocks decisions, then what keeps pods from running, then failed steps.
func problemsOf(in Input) []problem {
	var found []problem
	for _, blocked := range in.Plan.Blocked {
		if blocked.Rule != cachev1.ReasonScaling { // that wait passes by itself; the condition Progressing tells it
			found = append(found, problem{blocked.Rule, blocked.Message})
		}
	}
	if missing := in.Snapshot.Want.Access.Missing; missing != "" && in.Snapshot.Want.Spec.Paused {
		found = append(found, problem{cachev1.ReasonSecretMissing, missing}) // a plan while paused is empty, and tells nothing
	}
	for i := range in.Snapshot.Nodes {
		if p, ok := podProblem(in.Snapshot, &in.Snapshot.Nodes[i]); ok {
			found = append(found, p)
		}
	}
	if p, ok := creationProblem(in.Snapshot.Objects.Workload); ok {
		found = append(found, p)
	}
	for _, step := range in.Outcome.Steps {
		if conflict, ok := errors.AsType[*plan.NameConflictError](step.Err); ok {
			found = append(found, problem{cachev1.ReasonNameConflict, conflict.Error()})
		} else if step.Result == plan.Failed {
			found = append(found, problem{cachev1.ReasonStepFailed, fmt.Sprintf("cannot %s: %s", step.Step.Action, step.Err)})
		}
	}
	return found
}

// crashesToTell is how many restarts make a crash a problem rather than an incident, of a container that has served.
const crashesToTell = 3

// podProblem finds what keeps one pod from running.
func podProblem(s *state.Snapshot, n *state.Node) (problem, bool) {
	c := n.Pod.Container
	if n.Pod.Terminating {
		return problem{}, false
	}
	if n.Pod.Unschedulable != "" {
		return problem{cachev1.ReasonPodUnschedulable, fmt.Sprintf("pod %s: no node takes it: %s", n.Pod.Name, n.Pod.Unschedulable)}, true
	}
	switch c.Waiting {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"CreateContainerConfigError", "CreateContainerError", "RunContainerError":
		return problem{cachev1.ReasonPodCannotStart, fmt.Sprintf("pod %s: %s", n.Pod.Name, startFailure(s, c))}, true
	}
	if ends := crashing(s, n); ends != "" {
		return problem{cachev1.ReasonPodCrashing, fmt.Sprintf("pod %s: its container %s; see kubectl logs %s --previous", n.Pod.Name, ends, n.Pod.Name)}, true
	}
	return problem{}, false
}

// crashing words how a container that does not serve ends; empty where that is no problem yet.
//
// One that never served and failed will fail again: mostly it refuses its configuration, which is known after a moment, while the
// third restart comes after a minute. Not while its Redis answers: then it has taken its configuration and is at work.
func crashing(s *state.Snapshot, n *state.Node) string {
	c := n.Pod.Container
	served := n.Pod.GateSet
	hint := ""
	if !served && len(s.Want.Spec.Config) > 0 && !strings.Contains(c.LastEnd, "OOMKilled") {
		hint = ": a setting in spec.config that Redis does not take, mostly"
	}
	serves, _ := s.Serves(n)
	switch {
	case serves || c.LastEnd == "":
		return ""
	case c.Restarts >= crashesToTell:
		return fmt.Sprintf("ends again and again (%s)%s", c.LastEnd, hint)
	case !served && c.ExitCode != 0 && !n.Answers():
		return fmt.Sprintf("ended before it ever was ready (%s)%s", c.LastEnd, hint)
	}
	return ""
}

// startFailure words why a container does not start, the same way at every try: the kubelet alternates between ErrImagePull
// and ImagePullBackOff, and a text that followed it would be written anew for ever.
func startFailure(s *state.Snapshot, c state.Container) string {
	detail := c.WaitingMessage
	if _, after, found := strings.Cut(detail, "ErrImagePull: "); found {
		detail = after
	}
	if strings.Contains(c.Waiting, "Image") {
		return fmt.Sprintf("image %q cannot be pulled: %s", s.Want.Spec.Image, detail)
	}
	return c.Waiting + ": " + detail
}

// creationProblem tells why Kubernetes creates no pods, such as an exhausted quota.
func creationProblem(w *appsv1.Deployment) (problem, bool) {
	if w == nil {
		return problem{}, false
	}
	for _, c := range w.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return problem{cachev1.ReasonPodsNotCreated, "pods are not created: " + c.Message}, true
		}
	}
	return problem{}, false
}
