package resources

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// intent is what a user can change that needs new pods. An empty map is left out of the JSON, and so is each empty field of the
// pod template.
type intent struct {
	Image       string                         `json:"image"`
	Port        int32                          `json:"port"`
	Config      map[string]cachev1.ConfigValue `json:"config,omitempty"`
	Requests    map[string]string              `json:"requests,omitempty"`
	Limits      map[string]string              `json:"limits,omitempty"`
	Claims      []corev1.ResourceClaim         `json:"claims,omitempty"`
	PodTemplate cachev1.PodTemplate            `json:"podTemplate"`
}

// UserHash is of what the user asked for that needs new pods. While it stays, pods stay (see keptTemplate).
//
// It must not change by itself, least of all with an operator's release. So what is hashed is the user's wish and not what is
// made of it; it is hashed as JSON, with sorted keys; and a field that is empty, which a field of a later release is for
// everyone who does not use it, is not in the JSON at all (a new field must have omitempty and no default that the API server
// fills in). Quantities are compared by value: "0.5" and "500m" are the same wish. The leading 1 names this way of hashing:
// whoever must change it computes the old way too, for Deployments that carry the old number.
func UserHash(want *state.Want) string {
	spec := &want.Spec
	return "1-" + hashJSON(intent{
		Image:       spec.Image,
		Port:        spec.Port,
		Config:      spec.Config,
		Requests:    amounts(spec.Resources.Requests),
		Limits:      amounts(spec.Resources.Limits),
		Claims:      spec.Resources.Claims,
		PodTemplate: spec.PodTemplate,
	})[:32]
}

func amounts(list corev1.ResourceList) map[string]string {
	result := map[string]string{}
	for name, quantity := range list {
		result[string(name)] = amount(quantity)
	}
	return result
}

// amount is a quantity by its value, in whole units where it is whole: "1Gi" and "1073741824" are the same.
func amount(q resource.Quantity) string {
	if q.Cmp(*resource.NewQuantity(q.Value(), q.Format)) == 0 {
		return strconv.FormatInt(q.Value(), 10)
	}
	return strconv.FormatInt(q.MilliValue(), 10) + "m"
}
