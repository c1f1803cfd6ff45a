package resources

import (
	"maps"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

const (
	// ownPrefix starts the labels and annotations that only the operator may set.
	ownPrefix = "cache.example.com/"

	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelManagedBy = "app.kubernetes.io/managed-by"
)

// Labels are on every object of the resource.
func Labels(name string) map[string]string {
	return map[string]string{labelName: "redis", labelInstance: name, labelManagedBy: "redis-operator"}
}

// Selector selects the pods of the resource. A Deployment's selector cannot be changed, so this stays as it is for ever.
func Selector(name string) map[string]string {
	return map[string]string{labelName: "redis", labelInstance: name, labelManagedBy: "redis-operator"}
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
		OwnerReferences: []metav1.OwnerReference{ownerReference(want)},
	}
}

// ownerReference makes Kubernetes delete the object with the resource.
func ownerReference(want *state.Want) metav1.OwnerReference {
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
