// Package report turns what was seen, planned and done into the status and events that people read. It is pure.
//
// It asks the same questions of the snapshot as decide does, so that status cannot say one thing and the operator do another.
// Nothing that it writes is ever read back to decide anything.
package report

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// Event is something worth telling once.
type Event struct {
	Warning bool
	Reason  string
	Message string
	// Took is how long a change of the primary took; zero where the event is about something else, or it is not known.
	Took time.Duration
}

// Input is all that a report is made of.
type Input struct {
	Snapshot *state.Snapshot
	Plan     *plan.Plan
	Outcome  *plan.Outcome
	// Old is the status as it stands; transition times are kept from it.
	Old cachev1.RedisClusterStatus
	Now time.Time
}

// Status is the new status. The claim is carried over: only the safety lane writes it.
func Status(in Input) cachev1.RedisClusterStatus {
	s := in.Snapshot
	status := cachev1.RedisClusterStatus{
		Claim:              in.Old.Claim,
		ObservedGeneration: s.Want.Generation,
		Selector:           labels.SelectorFromSet(resources.Selector(s.Want.Key.Name)).String(),
		Version:            in.Old.Version,
		ReadyReplicas:      s.SettledReplicas(),
	}
	for i := range s.Nodes {
		status.Nodes = append(status.Nodes, s.Nodes[i].Pod.Name)
		if !s.Nodes[i].Pod.Terminating {
			status.Replicas++
		}
	}
	if primary := s.Primary(); primary != nil {
		status.Primary = primary.Pod.Name
		status.Version = primary.Redis.Version
	}
	for _, condition := range []metav1.Condition{available(in), ready(in), progressing(in), degraded(in), dataAtRisk(in)} {
		status.Conditions = append(status.Conditions, settle(condition, in))
	}
	status.Phase = phase(in, status.Conditions)
	return status
}

// maxMessage bounds a condition's message, in bytes; the API server's limit is 32,768.
const maxMessage = 1024

// settle completes a condition: generation, bounded message, and the transition time kept while the status stays the same.
func settle(c metav1.Condition, in Input) metav1.Condition {
	c.ObservedGeneration = in.Snapshot.Want.Generation
	if len(c.Message) > maxMessage {
		c.Message = strings.ToValidUTF8(c.Message[:maxMessage-3], "") + "..." // without the half of a letter
	}
	c.LastTransitionTime = metav1.NewTime(in.Now.Truncate(time.Second))
	for _, old := range in.Old.Conditions {
		if old.Type == c.Type && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	return c
}

func condition(conditionType string, holds bool, reason, message string) metav1.Condition {
	status := metav1.ConditionFalse
	if holds {
		status = metav1.ConditionTrue
	}
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}
