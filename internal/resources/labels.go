package resources

import (
	"maps"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

const (
	// ownPrefix starts the labels and annotations that only the operator may set.
	ownPrefix = "cache.example.com/"

	labelName      = "app.kubernetes.io/name"
	labelManagedBy = "app.kubernetes.io/managed-by"

	// LabelInstance has the name of the RedisCluster, on every object of it.
	LabelInstance = "app.kubernetes.io/instance"
)

// Labels are on every object of the resource.
func Labels(name string) map[string]string {
	return map[string]string{labelName: "redis", LabelInstance: name, labelManagedBy: "redis-operator"}
}

// Selector selects the pods of the resource. A Deployment's selector cannot be changed, so this stays as it is for ever.
func Selector(name string) map[string]string {
	return map[string]string{labelName: "redis", LabelInstance: name, labelManagedBy: "redis-operator"}
}

// selectorOf selects the pods of the resource with one role.
func selectorOf(name, role string) map[string]string {
	selector := Selector(name)
	selector[cachev1.LabelRole] = role
	return selector
}

// objectMeta is what all objects of the resource have in common.
func objectMeta(want *state.Want, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:            name,
		Namespace:       want.Key.Namespace,
		Labels:          Labels(want.Key.Name),
		OwnerReferences: []metav1.OwnerReference{OwnerReference(want)},
	}
}

// OwnerReference makes Kubernetes delete the object with the resource.
func OwnerReference(want *state.Want) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion:         cachev1.GroupVersion.String(),
		Kind:               "RedisCluster",
		Name:               want.Key.Name,
		UID:                want.UID,
		Controller:         new(true),
		BlockOwnerDeletion: new(true),
	}
}

// merged is the user's labels or annotations without the operator's names, and the operator's own; nil where there are none.
//
// The operator's names are left out, not only overridden: a user's boot-role annotation would let every pod start as primary.
func merged(users, own map[string]string) map[string]string {
	result := maps.Clone(users)
	maps.DeleteFunc(result, func(key, _ string) bool { return strings.HasPrefix(key, ownPrefix) })
	if result == nil {
		result = map[string]string{}
	}
	maps.Copy(result, own)
	if len(result) == 0 {
		return nil
	}
	return result
}

// OwnLabels are on every object that the operator makes, of any resource.
func OwnLabels() map[string]string {
	return map[string]string{labelName: "redis", labelManagedBy: "redis-operator"}
}

// OwnSliceLabels are on the EndpointSlices that the operator writes; Kubernetes' own, of the Services with a selector, copy
// the Services' labels and differ in this one.
func OwnSliceLabels() map[string]string {
	return map[string]string{discoveryv1.LabelManagedBy: sliceManager}
}
