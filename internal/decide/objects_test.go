package decide_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestObjectsAreMade(t *testing.T) {
	all := []string{
		"objects: apply ConfigMap r-config (Missing)",
		"objects: apply Secret r-users (Missing)",
		"objects: apply Service r (Missing)",
		"objects: apply Service r-replicas (Missing)",
		"objects: apply Service r-primary (Missing)",
		"objects: apply Service r-nodes (Missing)",
		"objects: apply PodDisruptionBudget r (Missing)",
		"objects: apply Deployment r (Missing)",
	}
	cases{
		"first the seed alone: everything else needs it": {
			given: given.Replicated(3).NoObjects().With(noSeed),
			want:  []string{"objects: create the seed (Seed)"},
		},
		"not the seed where its Secret belongs to someone else": {
			given: given.Replicated(3).NoObjects().With(noSeed).With(foreign("Secret", "r-users")),
			want: []string{
				"blocked: NameConflict: Secret r-users exists and does not belong to this resource; remove it, or give this resource another name",
			},
		},
		"then what pods need, then the pods": {
			given: given.Replicated(3).NoObjects(),
			want:  all,
		},
		"without a disruption budget for one pod, which it could only bar from being moved": {
			given: given.Replicated(1).NoObjects(),
			want:  append(append([]string{}, all[:6]...), all[7]),
		},
		"one that is missing": {
			given: given.Replicated(1).Primary("a").With(missing("Service", "r-nodes")),
			want:  []string{"objects: apply Service r-nodes (Missing)"},
		},
		"one that someone changed": {
			given: given.Replicated(1).Primary("a").With(changed("ConfigMap", "r-config")),
			want:  []string{"objects: apply ConfigMap r-config (Differs)"},
		},
		"all that the user changed, the pods' number too": {
			given: given.Replicated(2).Primary("a").Replica("b").With(func(s *state.Snapshot) { s.Want.Spec.Size = 3 }),
			want:  []string{"objects: apply Deployment r (Differs)"},
		},
		"but none that belongs to someone else": {
			given: given.Replicated(1).Primary("a").With(foreign("Service", "r")),
			want: []string{
				"blocked: NameConflict: Service r exists and does not belong to this resource; remove it, or give this resource another name",
			},
		},
	}.run(t)
}

func missing(kind, name string) func(*state.Snapshot) {
	return func(s *state.Snapshot) { delete(s.Objects.Existing, state.ObjectKey{Kind: kind, Name: name}) }
}

func changed(kind, name string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		key := state.ObjectKey{Kind: kind, Name: name}
		existing := s.Objects.Existing[key]
		existing.AppliedHash = ""
		s.Objects.Existing[key] = existing
	}
}

func TestObjectsThatAreNotWantedAreRemoved(t *testing.T) {
	exists := func(kind, name string, controller types.UID) func(*state.Snapshot) {
		return func(s *state.Snapshot) {
			s.Objects.Existing[state.ObjectKey{Kind: kind, Name: name}] = state.Existing{UID: "u", Controller: controller}
		}
	}
	alone := func() *given.Cluster { return given.Replicated(1).Primary("a") }
	cases{
		"the disruption budget of a resource that went to size 1": {
			given: alone().With(exists("PodDisruptionBudget", "r", given.ResourceUID)),
			want:  []string{"objects: delete PodDisruptionBudget r (Unwanted)"},
		},
		"never what another one controls": {
			given: alone().With(exists("PodDisruptionBudget", "r", "another")),
			want:  nothing,
		},
		"nor an object of another kind, which the operator may not delete": {
			given: alone().With(exists("Service", "r-old", given.ResourceUID)),
			want:  nothing,
		},
	}.run(t)
}

func TestAMissingPasswordStopsTheBeginningOnly(t *testing.T) {
	words := "Secret ns/p does not exist"
	noPassword := func(s *state.Snapshot) { s.Want.Access.Missing = words }
	cases{
		"no Redis starts without the password that it should have": {
			given: given.Replicated(2).NoObjects().With(noPassword),
			want:  []string{"blocked: " + cachev1.ReasonSecretMissing + ": " + words},
		},
		"running ones keep their access rules, and all else is kept true": {
			given: given.Replicated(2).Primary("a").Replica("b", given.OtherAccess()).With(noPassword).
				With(changed("Secret", "r-users")).With(missing("Service", "r-nodes")),
			want: []string{
				"objects: apply Service r-nodes (Missing)",
				"blocked: " + cachev1.ReasonSecretMissing + ": " + words,
			},
		},
	}.run(t)
}

func TestScalingDown(t *testing.T) {
	waits := "blocked: Scaling: scaling from 3 to 2 waits until the primary serves and is marked as the last to go"
	scaling := func() *given.Cluster { return given.Replicated(2).Scaled(3) }
	cases{
		"is asked for once the primary is sure to be the last to go": {
			given: scaling().Primary("a").Replica("b").Replica("c"),
			want:  []string{"objects: apply Deployment r (Differs)"},
		},
		"waits until the primary is marked": {
			given: scaling().Primary("a", given.Unmarked()).Replica("b").Replica("c"),
			want:  []string{"upkeep: mark pod a: pod-deletion-cost=1000 (MarkPod)", waits},
		},
		"waits until Kubernetes calls the primary ready: one that is not goes first, whatever its mark": {
			given: scaling().Primary("a", given.NotReady()).Replica("b").Replica("c"),
			want:  []string{waits},
		},
		"waits while the Service leads elsewhere": {
			given: scaling().Primary("a").Replica("b").Replica("c").With(sliceLeadsTo("10.0.0.9")),
			want:  []string{"safety: lead the Service to a (LeadService)", waits},
		},
		"waits while there is no primary": {
			given: scaling().Primary("a", given.Silent(0)).Replica("b").Replica("c"),
			want:  []string{waits},
		},
		"waits where the record was lost": {
			given: scaling().Primary("a").Replica("b").Replica("c").NoClaim(),
			want:  []string{"safety: claim epoch 1 for a (Adopt)", waits},
		},
		"waits for nothing before anyone had data": {
			given: scaling().Creating("a").Creating("b").Creating("c"),
			want:  []string{"objects: apply Deployment r (Differs)"},
		},
	}.run(t)
}
