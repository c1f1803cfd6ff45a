package decide

import (
	"sort"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// objects fills the lane that makes what must exist in Kubernetes and removes what is no longer wanted.
func objects(s *state.Snapshot, p *plan.Plan) {
	name := s.Want.Key.Name
	secret := state.ObjectKey{Kind: "Secret", Name: resources.SecretName(name)}
	if !s.Want.Access.SeedKnown {
		if mine(s, secret, p) {
			p.Add(plan.Objects, plan.CreateSeed{}, plan.CodeSeed, "Secret %s has no seed yet", secret.Name)
		}
		return
	}
	if missing := s.Want.Access.Missing; missing != "" {
		p.Block(cachev1.ReasonSecretMissing, "%s", missing)
		if s.Objects.Workload == nil {
			return // a Redis without the password it should have must not start
		}
	}
	wanted := map[state.ObjectKey]bool{{Kind: "EndpointSlice", Name: resources.PrimarySliceName(name)}: true, secret: true}
	for _, object := range resources.All(&s.Want, s.Objects.Workload, replicas(s, p)) {
		key := state.ObjectKey{Kind: object.GetObjectKind().GroupVersionKind().Kind, Name: object.GetName()}
		wanted[key] = true
		if key == secret && s.Want.Access.Missing != "" {
			continue // the running access rules stay until the password is known
		}
		apply(s, key, object, p)
	}
	prune(s, wanted, p)
}

// apply plans an object if it is missing, or changed since it was last applied, by us or by anyone.
func apply(s *state.Snapshot, key state.ObjectKey, object plan.Object, p *plan.Plan) {
	if !mine(s, key, p) {
		return
	}
	hash := resources.Hash(object)
	existing, exists := s.Objects.Existing[key]
	step := plan.Apply{Object: object, Kind: key.Kind, Hash: hash, Missing: !exists}
	switch {
	case !exists:
		p.Add(plan.Objects, step, plan.CodeMissing, "%s %s is missing", key.Kind, key.Name)
	case existing.AppliedHash != hash:
		p.Add(plan.Objects, step, plan.CodeDiffers, "%s %s is not known to be as wanted", key.Kind, key.Name)
	}
}

// mine tells whether an object may be touched: it does not exist, this resource controls it, or it carries the resource's labels
// and nobody controls it any more, as after a deletion that left the children. If not, that is reported.
func mine(s *state.Snapshot, key state.ObjectKey, p *plan.Plan) bool {
	existing, exists := s.Objects.Existing[key]
	if !exists || existing.Controller == s.Want.UID || existing.Controller == "" {
		return true
	}
	p.Block(cachev1.ReasonNameConflict, "%s", (&plan.NameConflictError{Kind: key.Kind, Name: key.Name}).Error())
	return false
}

// prune removes what this resource controls and does not want any more: the disruption budget of a resource that went to size 1.
// Nothing else is ever unwanted, and the operator may delete nothing else.
func prune(s *state.Snapshot, wanted map[state.ObjectKey]bool, p *plan.Plan) {
	var unwanted []state.ObjectKey
	for key, existing := range s.Objects.Existing {
		if key.Kind == "PodDisruptionBudget" && existing.Controller == s.Want.UID && !wanted[key] {
			unwanted = append(unwanted, key)
		}
	}
	sort.Slice(unwanted, func(i, j int) bool {
		return unwanted[i].Kind+unwanted[i].Name < unwanted[j].Kind+unwanted[j].Name
	})
	for _, key := range unwanted {
		p.Add(plan.Objects, plan.Delete{Key: key, UID: s.Objects.Existing[key].UID}, plan.CodeUnwanted, "%s %s is not wanted any more", key.Kind, key.Name)
	}
}

// replicas is the number of pods to ask for now. Fewer than there are only once the primary is sure to be the last to go:
// a ReplicaSet removes pods that are not ready before it looks at the deletion cost.
func replicas(s *state.Snapshot, p *plan.Plan) int32 {
	size := s.Want.Spec.Size
	if s.Objects.Workload == nil || s.Objects.Workload.Spec.Replicas == nil || size >= *s.Objects.Workload.Spec.Replicas {
		return size
	}
	current := *s.Objects.Workload.Spec.Replicas
	if s.Claim == nil && !s.EverHadRole() {
		return size // nobody has data yet
	}
	primary := s.Serving()
	if primary == nil || !primary.Pod.Ready || primary.Pod.Annotations[annotationDeletionCost] != costPrimary {
		p.Block(cachev1.ReasonScaling, "scaling from %d to %d waits until the primary serves and is marked as the last to go", current, size)
		return current
	}
	if s.Claim != nil && s.Claim.Quorum > s.Majority() || primary.Redis.MinReplicas > s.Majority() {
		p.Block(cachev1.ReasonScaling, "scaling from %d to %d waits until %s acknowledges what %d replicas can confirm", current, size, primary.Pod.Name, s.Majority())
		return current
	}
	return size
}
