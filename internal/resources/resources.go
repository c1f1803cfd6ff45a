// Package resources builds the Kubernetes objects that a RedisCluster wants to exist.
//
// It is pure: what goes in is the wish (state.Want) and, for one rule, the live Deployment; what comes out are whole objects
// with only the fields that the operator means, ready for server-side apply. Nothing here knows who the primary is, except
// PrimarySlice, which is told.
//
// The one invariant: no object leads to a role. A pod starts fenced (see redisConf) and stays so until the operator, or the
// boot-role annotation of that one pod, says otherwise.
package resources

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"

	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// Object is a wanted Kubernetes object.
type Object = plan.Object

// All is the whole wanted set in a fixed order, except the primary's EndpointSlice. What pods need comes before the pods.
//
// live is the current Deployment, nil where there is none; replicas is how many pods may run now.
func All(want *state.Want, live *appsv1.Deployment, replicas int32) []Object {
	objects := []Object{
		configMap(want),
		secret(want),
		service(want),
		replicasService(want),
		primaryService(want),
		nodesService(want),
	}
	if want.Spec.Size > 1 {
		objects = append(objects, podDisruptionBudget(want))
	}
	return append(objects, deployment(want, live, replicas))
}

// Hash is of the intent: two objects with the same hash ask for the same.
func Hash(o Object) string { return hashJSON(o) }

// hashJSON hashes a value by its JSON, whose map keys are sorted.
func hashJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		// Only a channel, a function or a cycle cannot be written, and no API type holds one.
		panic("resources: a value without JSON: " + err.Error())
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
