package decide_test

import (
	"testing"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

func TestAHalfDonePromotionIsFinished(t *testing.T) {
	finish := []string{
		"safety: promote a in epoch 1 (FinishPromotion)",
		"safety: attach b to a (Attach)",
		"safety: record the history of a (NewHistory)",
	}
	cases{
		"a claimed node that is still frozen is promoted": {
			given: given.Replicated(2).Primary("a", given.Fenced()).Frozen("b"),
			want:  finish,
		},
		"one that still follows the primary before is promoted too": {
			given: given.Replicated(2).Primary("a", given.Follows("x")).Frozen("b"),
			want:  finish,
		},
		"one that loads is not promoted yet": {
			given: given.Replicated(2).Primary("a", given.Fenced(), given.Loading()).Frozen("b"),
			want:  nothing,
		},
		"another process in the same pod is not the claimed one": {
			given: given.Replicated(2).Primary("a", given.Restarted()).Replica("b", given.LinkDown(0)),
			want:  []string{"safety: freeze b (Freeze)"},
		},
	}.run(t)
}

func TestWhatAPrimaryNeeds(t *testing.T) {
	cases{
		"a Service that leads elsewhere is led to it": {
			given: given.Replicated(2).Primary("a").Replica("b").With(sliceLeadsTo("10.0.0.9")),
			want:  []string{"safety: lead the Service to a (LeadService)"},
		},
		"a Service that leads to nothing is led to it": {
			given: given.Replicated(1).Primary("a").With(func(s *state.Snapshot) { s.Objects.PrimarySlice = nil }),
			want:  []string{"safety: lead the Service to a (LeadService)"},
		},
		"an EndpointSlice of someone else is left alone": {
			given: given.Replicated(1).Primary("a").With(sliceLeadsTo("10.0.0.9")).With(foreign("EndpointSlice", "r-primary-endpoint")),
			want: []string{
				"blocked: NameConflict: EndpointSlice r-primary-endpoint exists and does not belong to this resource; remove it, or give this resource another name",
			},
		},
		"replicas must be let in, by a new operator that does not know whether they are": {
			given: given.Replicated(2).Primary("a", given.LetIn(0)).Replica("b", given.LetIn(0)),
			want:  []string{"safety: open a for its replicas (OpenReplication)"},
		},
		"a history that did not grow out of the recorded one is recorded before anyone copies it": {
			given: given.Replicated(2).Primary("a", given.Data("new", "")).Started("b"),
			want: []string{
				"safety: record the history of a (NewHistory)",
				"safety: record as attached b (Attach)",
				"safety: attach b to a (Attach)",
			},
		},
		"one that did is known, and recorded after": {
			given: given.Replicated(2).Primary("a", given.Data("new", given.History)).Started("b"),
			want: []string{
				"safety: record as attached b (Attach)",
				"safety: attach b to a (Attach)",
				"safety: record the history of a (NewHistory)",
			},
		},
	}.run(t)
}

func sliceLeadsTo(ip string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.Objects.PrimarySlice = s.Objects.PrimarySlice.DeepCopy()
		s.Objects.PrimarySlice.Endpoints[0].Addresses = []string{ip}
	}
}

// foreign lets an object belong to someone else.
func foreign(kind, name string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.Objects.Existing[state.ObjectKey{Kind: kind, Name: name}] = state.Existing{UID: "foreign", Controller: "someone else", Version: "1"}
	}
}

// recordedAt gives an attached pod another address on record: its machine started anew, and its pod got a new one.
func recordedAt(pod, ip string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		for i := range s.Claim.Attached {
			if s.Claim.Attached[i].UID == given.UID(pod) {
				s.Claim.Attached[i].IP = ip
			}
		}
	}
}

func TestWhoIsAttached(t *testing.T) {
	attached := []string{"safety: attach b to a (Attach)"}
	recorded := append([]string{"safety: record as attached b (Attach)"}, attached...)
	replica := func(options ...given.Option) *given.Cluster {
		return given.Replicated(2).Primary("a").Replica("b", options...)
	}
	cases{
		"a node that just started":                            {replicaStarted(), recorded},
		"a frozen one with data":                              {given.Replicated(2).Primary("a").Frozen("b"), append([]string{"safety: let the clients of a go on (Resume)"}, attached...)},
		"one that follows another node":                       {replica(given.Follows("x")), attached},
		"one that says it is a primary, as a former one does": {replica(given.Writable(), given.Role("replica")), append([]string{"safety: demote b (Freeze)"}, attached...)},
		"one whose address is another than on record":         {replica(given.Follows("x")).With(recordedAt("b", "10.9.9.9")), recorded},
		"one that cannot get through with an old password":    {replica(given.LinkDown(0), given.LetIn(0)), attached},
		"not one that cannot get through with the right one":  {replica(given.LinkDown(0)), nothing},
		"not one that copies, with whatever password":         {replica(given.LetIn(0)), nothing},
		"not one in the middle of its first copy":             {replica(given.Syncing(), given.LetIn(0), given.GateClosed()), nothing},
		"not one that loads":                                  {given.Replicated(2).Primary("a").Started("b", given.Loading()), nothing},
		"not one whose pod is being deleted":                  {given.Replicated(2).Primary("a").Started("b", given.Terminating()), nothing},
		"not one that does not answer":                        {given.Replicated(2).Primary("a").Started("b", given.Silent(0)), nothing},
	}.run(t)
}

func replicaStarted() *given.Cluster { return given.Replicated(2).Primary("a").Started("b") }

func TestAFormerPrimaryThatComesBackFollows(t *testing.T) {
	cases{
		"by its own word it is a primary, and so it is attached and loses its marks": {
			given: given.Replicated(2).Primary("b").Replica("a", given.Writable(), given.Role("primary")).Claim("b", 2).With(allLetIn(2)),
			want: []string{
				"safety: record as attached a (Attach)",
				"safety: demote a (Freeze)",
				"safety: attach a to b (Attach)",
				"upkeep: mark pod a: role=replica (MarkPod)",
			},
		},
	}.run(t)
}

func allLetIn(epoch int64) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		for i := range s.Nodes {
			s.Nodes[i].ReplicationGeneration = epoch
		}
	}
}

func TestBootRoles(t *testing.T) {
	cases{
		"the only pod of a resource of size 1 may start as primary by itself": {
			given: given.Replicated(1).Primary("a", withoutBootRole).With(marked("a")),
			want:  []string{"safety: mark pod a: boot-role=replicaof no one (BootRole)"},
		},
		"not while a second pod is still there": {
			given: given.Replicated(1).Primary("a", withoutBootRole).Replica("b", given.Terminating()).With(marked("a")),
			want:  nothing,
		},
		"not while it is being deleted": {
			given: given.Replicated(1).Primary("a", withoutBootRole, given.Terminating()).With(marked("a")),
			want: []string{
				"blocked: NoHealthyReplica: pod a of the primary is being deleted, and no replica is in sync to take over: it serves for up to 10 s more",
			},
		},
		"it is taken back before a second one is attached": {
			given: given.Replicated(2).Primary("a", given.BootRole()).Started("b"),
			want: []string{
				"safety: mark pod a: boot-role- (BootRole)",
				"safety: record as attached b (Attach)",
				"safety: attach b to a (Attach)",
			},
		},
		"it is taken back from a replica that has it for whatever reason": {
			given: given.Replicated(2).Primary("a").Replica("b", given.BootRole()),
			want:  []string{"safety: mark pod b: boot-role- (BootRole)"},
		},
	}.run(t)
}

// marked gives a pod the mark of the last to go.
func marked(pod string) func(*state.Snapshot) {
	return func(s *state.Snapshot) {
		s.NodeByUID(given.UID(pod)).Pod.Annotations["controller.kubernetes.io/pod-deletion-cost"] = "1000"
	}
}

func TestANodeThatRefusesTheOperatorIsReported(t *testing.T) {
	cases{
		"and everything else goes on": {
			given: given.Replicated(3).Primary("a").Replica("b", given.Linked(state.LinkDenied, 0)).Started("c"),
			want: []string{
				"safety: record as attached c (Attach)",
				"safety: attach c to a (Attach)",
				"blocked: " + cachev1.ReasonAccessDenied + ": pod b refuses the operator's user; delete the pod, so that it starts with the rules in Secret r-users",
			},
		},
	}.run(t)
}
