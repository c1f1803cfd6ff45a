package sim

import (
	"encoding/json"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// apply merges an intent into an object, or makes it.
func (s *store) apply(intent map[string]any, result func(map[string]any)) error {
	kind, _ := intent["kind"].(string)
	metadata, _ := intent["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	object := emptyObject(kind)
	content := map[string]any{}
	if old := s.get(objectKey{kind, name}); old != nil {
		content = contentOf(old)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merge(content, intent), object); err != nil {
		return err
	}
	result(contentOf(s.put(object)))
	return nil
}

func emptyObject(kind string) client.Object {
	switch kind {
	case "Service":
		return &corev1.Service{}
	case "Secret":
		return &corev1.Secret{}
	case "ConfigMap":
		return &corev1.ConfigMap{}
	case "Deployment":
		return &appsv1.Deployment{}
	case "PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}
	case "EndpointSlice":
		return &discoveryv1.EndpointSlice{}
	}
	panic("sim: no object of kind " + kind)
}

// patch changes an object by a merge patch, if its uid and version, where the patch names them, are right. Patches of a status
// change nothing else; a pod's conditions are merged by type.
func (s *store) patch(o client.Object, patch map[string]any, status bool) error {
	kind, name := kindOf(o), o.GetName()
	old := s.get(keyOf(o))
	if old == nil {
		return notFound(kind, name)
	}
	metadata, _ := patch["metadata"].(map[string]any)
	if uid, named := metadata["uid"].(string); named && uid != string(old.GetUID()) {
		return conflict(kind, name, "another uid")
	}
	if version, named := metadata["resourceVersion"].(string); named && version != old.GetResourceVersion() {
		return conflict(kind, name, "another version")
	}
	next := copyOf(old)
	if pod, is := next.(*corev1.Pod); is && status {
		return s.patchPodStatus(o, pod, patch)
	}
	if status {
		patch = map[string]any{"status": patch["status"]}
		if patch["status"] == nil {
			return fill(o, old)
		}
	}
	content := merge(contentOf(old), patch)
	next = emptyLike(old)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, next); err != nil {
		return err
	}
	return fill(o, s.put(next))
}

func emptyLike(o client.Object) client.Object {
	switch o.(type) {
	case *cachev1.RedisCluster:
		return &cachev1.RedisCluster{}
	case *corev1.Pod:
		return &corev1.Pod{}
	}
	return emptyObject(kindOf(o))
}

func (s *store) patchPodStatus(into client.Object, pod *corev1.Pod, patch map[string]any) error {
	text, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	var changed corev1.Pod
	if err := json.Unmarshal(text, &changed); err != nil {
		return err
	}
	pod.Status.Conditions = mergeConditions(pod.Status.Conditions, changed.Status.Conditions)
	return fill(into, s.put(pod))
}

// merge is a JSON merge patch (RFC 7396).
func merge(old, patch map[string]any) map[string]any {
	merged := maps.Clone(old)
	if merged == nil {
		merged = map[string]any{}
	}
	for name, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(merged, name)
		case isMap:
			before, _ := merged[name].(map[string]any)
			merged[name] = merge(before, inner)
		default:
			merged[name] = value
		}
	}
	return merged
}
