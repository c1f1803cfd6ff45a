package report_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// of is what a look at a situation has to report, with the plan that decide makes of it and steps that ended as given.
func of(c *given.Cluster, outcome ...plan.StepOutcome) report.Input {
	s := c.Snapshot()
	p := decide.Decide(s, given.Now)
	return report.Input{Snapshot: s, Plan: &p, Outcome: &plan.Outcome{Steps: outcome}, Now: given.Now, Old: cachev1.RedisClusterStatus{Claim: s.Claim}}
}

// tell is phase and conditions in one line each.
func tell(status cachev1.RedisClusterStatus) []string {
	lines := []string{string(status.Phase)}
	for _, c := range status.Conditions {
		if c.Type == cachev1.ConditionDataAtRisk {
			continue // has a test of its own
		}
		lines = append(lines, c.Type+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
	}
	return lines
}

func TestConditions(t *testing.T) {
	healthy := "Degraded=False Healthy: nothing stands in the way"
	serving := "Available=True Serving: pod a takes reads and writes"
	for name, c := range map[string]struct {
		given *given.Cluster
		want  []string
	}{
		"a settled resource": {
			given.Replicated(2).Primary("a").Replica("b"),
			[]string{"Running", serving, "Ready=True AllNodesInSync: 2 of 2 nodes serve", "Progressing=False Settled: what spec asks for is there", healthy},
		},
		"nothing yet": {
			given.Replicated(2).NoObjects(),
			[]string{
				"Pending", "Available=False NoPrimary: no pod serves as the primary yet", "Ready=False NoPrimary: no primary serves",
				"Progressing=True NoPrimary: no primary serves", healthy,
			},
		},
		"the first primary is named and does not serve yet": {
			given.Replicated(1).Primary("a", given.Fenced()).With(noSlice),
			[]string{
				"Pending", "Available=False NoPrimary: pod a is to be the primary and does not serve (connection: up)",
				"Ready=False NoPrimary: no primary serves; a: there is no primary", "Progressing=True NoPrimary: no primary serves; a: there is no primary", healthy,
			},
		},
		"a replica that copies": {
			given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Syncing(), given.GateClosed()),
			[]string{
				"Scaling", serving, "Ready=False NodesNotReady: c: it is copying the primary's data",
				"Progressing=True NodesNotReady: c: it is copying the primary's data", healthy,
			},
		},
		"a replica that has served and is heard before the primary's last two answers": {
			given.Replicated(2).Primary("a").Replica("b", given.Offset(1)),
			[]string{"Running", serving, "Ready=True AllNodesInSync: 2 of 2 nodes serve", "Progressing=False Settled: what spec asks for is there", healthy},
		},
		"each node that does not serve, with why": {
			given.Replicated(6).Primary("a", given.NotReady()).Replica("b", given.Terminating()).Started("c").Replica("d", given.Silent(0)).
				Replica("e", given.Offset(1), given.GateClosed()).Replica("f", given.LinkDown(0)),
			[]string{
				"Scaling", serving,
				"Ready=False NodesNotReady: a: serves, and its readiness probe has not succeeded yet; b: is being deleted; c: it does not follow the primary yet; " +
					"d: its Redis does not answer (silent); e: it has not caught up with the primary; f: its link to the primary is down",
				"Progressing=True NodesNotReady: a: serves, and its readiness probe has not succeeded yet; b: is being deleted; c: it does not follow the primary yet; " +
					"d: its Redis does not answer (silent); e: it has not caught up with the primary; f: its link to the primary is down",
				healthy,
			},
		},
		"scaling up": {
			given.Replicated(3).Primary("a").Replica("b"),
			[]string{
				"Scaling", serving, "Ready=False Scaling: there are 2 pods, and 3 are wanted",
				"Progressing=True Scaling: there are 2 pods, and 3 are wanted", healthy,
			},
		},
		"scaling down that waits, which passes by itself": {
			given.Replicated(1).Scaled(2).Primary("a", given.NotReady()).Replica("b"),
			[]string{
				"Scaling", serving, "Ready=False Scaling: there are 2 pods, and 1 are wanted",
				"Progressing=True Scaling: there are 2 pods, and 1 are wanted: scaling from 2 to 1 waits until the primary serves and is marked as the last to go",
				healthy,
			},
		},
		"a rollout": {
			given.Replicated(2).Primary("a").Replica("b").With(halfRolledOut),
			[]string{
				"Updating", serving, "Ready=False RollingOut: pods are being replaced after a change",
				"Progressing=True RollingOut: pods are being replaced after a change", healthy,
			},
		},
		"a rollout that waits for a new pod": {
			given.Replicated(2).Primary("a").Replica("b", given.Terminating()).Replica("c", given.Newer("rev2"), given.Syncing(), given.GateClosed()).With(halfRolledOut),
			[]string{
				"Updating", serving, "Ready=False RollingOut: pods are being replaced after a change; b: is being deleted; c: it is copying the primary's data",
				"Progressing=True RollingOut: pods are being replaced after a change; b: is being deleted; c: it is copying the primary's data", healthy,
			},
		},
		"a rollout that Kubernetes has not taken up yet": {
			given.Replicated(2).Primary("a").Replica("b").With(halfRolledOut).With(func(s *state.Snapshot) { s.Objects.Workload.Generation = 2 }),
			[]string{
				"Updating", serving, "Ready=False RollingOut: pods are being replaced after a change",
				"Progressing=True RollingOut: pods are being replaced after a change", healthy,
			},
		},
		"a dead primary": {
			given.Replicated(2).Primary("a", given.Ended()).Replica("b", given.LinkDown(0)),
			[]string{
				"FailingOver", "Available=False NoPrimary: pod a is to be the primary and does not serve (connection: refused)",
				"Ready=False NoPrimary: no primary serves; a: its container does not run; b: there is no primary",
				"Progressing=True NoPrimary: no primary serves; a: its container does not run; b: there is no primary", healthy,
			},
		},
		"a primary that is gone and may live": {
			given.Replicated(2).Claim("a", 1).Replica("b", given.LinkDown(0)).Attached(0, "b").Departed(state.Departed{Since: given.Now.Add(-time.Minute)}),
			[]string{
				"Degraded", "Available=False NoPrimary: pod a was the primary and is gone",
				"Ready=False NoPrimary: no primary serves; b: there is no primary", "Progressing=False NoPrimary: no primary serves; b: there is no primary",
				"Degraded=True PrimaryUnreachable: primary a is lost (its pod is gone, and whether its process ended is not certain), and it may still run and " +
					"hold writes that nobody else has; if it is dead, annotate the resource with cache.example.com/confirm-dead=a, or set spec.failover.policy to BestEffort",
			},
		},
		"two that say they are the primary": {
			given.Replicated(2).Primary("a").Replica("b", given.Writable()).NoClaim(),
			[]string{
				"Failed", "Available=False NoPrimary: no pod serves as the primary yet",
				"Ready=False NoPrimary: no primary serves; a: there is no primary; b: there is no primary",
				"Progressing=False NoPrimary: no primary serves; a: there is no primary; b: there is no primary",
				"Degraded=True AmbiguousPrimary: there is no record of who is primary, and a, b all say they are; delete the pods whose data may go",
			},
		},
		"paused": {
			given.Replicated(1).Primary("a").With(func(s *state.Snapshot) { s.Want.Spec.Paused = true }),
			[]string{
				"Running", serving, "Ready=True AllNodesInSync: 1 of 1 nodes serve",
				"Progressing=False Paused: spec.paused is true: nothing is changed, failovers included", healthy,
			},
		},
		"the password's Secret is not there, and what runs goes on without it": {
			given.Replicated(2).Primary("a").Replica("b").With(noSecret),
			[]string{
				"Degraded", serving, "Ready=False SecretMissing: Secret p does not exist", "Progressing=False SecretMissing: Secret p does not exist",
				"Degraded=True SecretMissing: Secret p does not exist",
			},
		},
		"the same, and other things are unfinished too": {
			given.Replicated(3).Primary("a").Replica("b", given.Syncing(), given.GateClosed()).With(noSecret),
			[]string{
				"Degraded", serving, "Ready=False SecretMissing: Secret p does not exist", "Progressing=False SecretMissing: Secret p does not exist",
				"Degraded=True SecretMissing: Secret p does not exist",
			},
		},
		"the password's Secret is not there, and nothing is made without it": {
			given.Replicated(2).NoObjects().With(noSecret),
			[]string{
				"Degraded", "Available=False NoPrimary: no pod serves as the primary yet", "Ready=False SecretMissing: Secret p does not exist",
				"Progressing=False SecretMissing: Secret p does not exist", "Degraded=True SecretMissing: Secret p does not exist",
			},
		},
		"the password's Secret is not there while paused": {
			given.Replicated(1).Primary("a").With(noSecret).With(func(s *state.Snapshot) { s.Want.Spec.Paused = true }),
			[]string{
				"Degraded", serving, "Ready=False SecretMissing: Secret p does not exist",
				"Progressing=False Paused: spec.paused is true: nothing is changed, failovers included", "Degraded=True SecretMissing: Secret p does not exist",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, strings.Join(c.want, "\n"), strings.Join(tell(report.Status(of(c.given))), "\n"))
		})
	}
}

func noSecret(s *state.Snapshot) { s.Want.Access.Missing = "Secret p does not exist" }

func noSlice(s *state.Snapshot) { s.Objects.PrimarySlice = nil }

func halfRolledOut(s *state.Snapshot) {
	s.Objects.Workload = s.Objects.Workload.DeepCopy()
	s.Objects.Workload.Status.UpdatedReplicas = 1
}

func TestStatusFields(t *testing.T) {
	in := of(given.Replicated(3).Primary("a").Replica("b").Replica("c", given.Terminating()))
	status := report.Status(in)
	assert.Equal(t, []string{"a", "b", "c"}, status.Nodes)
	assert.EqualValues(t, 2, status.ReadyReplicas)
	assert.EqualValues(t, 2, status.Replicas)
	assert.Equal(t, "a", status.Primary)
	assert.Equal(t, "7.0.15", status.Version)
	assert.Equal(t, "app.kubernetes.io/instance=r,app.kubernetes.io/managed-by=redis-operator,app.kubernetes.io/name=redis", status.Selector)
	assert.EqualValues(t, 1, status.ObservedGeneration)
	assert.Same(t, in.Old.Claim, status.Claim)
}

func TestTheLastVersionStaysWhileNobodyServes(t *testing.T) {
	in := of(given.Replicated(1).Primary("a", given.Silent(0)))
	in.Old.Version = "7.0.14"
	status := report.Status(in)
	assert.Equal(t, "7.0.14", status.Version)
	assert.Empty(t, status.Primary)
}

func TestASettledStatusIsWrittenOnce(t *testing.T) {
	in := of(given.Replicated(2).Primary("a").Replica("b"))
	in.Old = report.Status(in)
	in.Now = in.Now.Add(time.Hour)
	assert.Equal(t, in.Old, report.Status(in))
	assert.Empty(t, report.Events(in, report.Status(in)))
}

func TestTransitionTimes(t *testing.T) {
	before := metav1.NewTime(given.Now.Add(-time.Hour))
	in := of(given.Replicated(2).Primary("a").Replica("b", given.Syncing(), given.GateClosed()))
	in.Old.Conditions = []metav1.Condition{
		{Type: cachev1.ConditionAvailable, Status: metav1.ConditionTrue, LastTransitionTime: before},
		{Type: cachev1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: before},
		{Type: cachev1.ConditionProgressing, Status: metav1.ConditionTrue, Reason: "Another", LastTransitionTime: before},
	}
	conditions := report.Status(in).Conditions
	at := func(name string) time.Time { return meta.FindStatusCondition(conditions, name).LastTransitionTime.Time }
	assert.Equal(t, before.Time, at(cachev1.ConditionAvailable), "it stays while the status does")
	assert.Equal(t, before.Time, at(cachev1.ConditionProgressing), "whatever the reason")
	assert.Equal(t, given.Now, at(cachev1.ConditionReady), "it moves with the status")
	assert.Equal(t, given.Now, at(cachev1.ConditionDegraded), "a new condition turned now")
	for _, c := range conditions {
		assert.EqualValues(t, 1, c.ObservedGeneration)
	}
}

func TestAMessageIsBounded(t *testing.T) {
	// Of three bytes each: a letter that is cut in two would be mended by JSON, and the status would differ from the one
	// written for ever.
	for _, words := range []string{strings.Repeat("x", 40000), strings.Repeat("→", 20000), "x" + strings.Repeat("→", 20000), "xx" + strings.Repeat("→", 20000)} {
		for _, c := range report.Status(of(given.Replicated(1).Primary("a"), failed(errors.New(words)))).Conditions {
			assert.LessOrEqual(t, len(c.Message), 1024)
			assert.True(t, utf8.ValidString(c.Message), c.Message)
		}
	}
}
