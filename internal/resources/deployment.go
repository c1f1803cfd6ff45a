package resources

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"example.com/redis-operator/internal/state"
)

const (
	// AnnotationUserHash is on the Deployment and on its pods: the hash of what the user asked for that needs new pods.
	AnnotationUserHash = "cache.example.com/user-hash"
	// AnnotationPodTemplate on the Deployment keeps the pod template as it was rendered for that hash.
	AnnotationPodTemplate = "cache.example.com/pod-template"
)

// deployment runs the pods. A rollout adds one new pod before it takes an old one, and Kubernetes counts a pod as there only
// when its readiness gate says that it has the data.
func deployment(want *state.Want, live *appsv1.Deployment, replicas int32) *appsv1.Deployment {
	hash := UserHash(want)
	template, kept := keptTemplate(live, hash)
	if kept == "" {
		template = podTemplate(want, hash)
		kept = templateText(template)
	}
	meta := objectMeta(want, WorkloadName(want.Key.Name))
	meta.Annotations = map[string]string{AnnotationUserHash: hash, AnnotationPodTemplate: kept}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment"},
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas:             new(replicas),
			RevisionHistoryLimit: new(int32(2)),
			Selector:             &metav1.LabelSelector{MatchLabels: Selector(want.Key.Name)},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge:       new(intstr.FromInt32(1)),
					MaxUnavailable: new(intstr.FromInt32(0)),
				},
			},
			Template: template,
		},
	}
}

// keptTemplate is the template that was rendered when the user last changed something, with its text; the text is empty where
// there is none for this hash.
//
// It is used again as it stands, so that an operator that renders differently (a new release) restarts no pod; its new ideas
// come with the next change that the user makes. What others change in the template by hand is still put right, since the
// kept text and not the live template is applied.
func keptTemplate(live *appsv1.Deployment, hash string) (corev1.PodTemplateSpec, string) {
	var template corev1.PodTemplateSpec
	if live == nil || live.Annotations[AnnotationUserHash] != hash {
		return template, ""
	}
	text := live.Annotations[AnnotationPodTemplate]
	if err := json.Unmarshal([]byte(text), &template); err != nil || template.Annotations[AnnotationUserHash] != hash {
		return corev1.PodTemplateSpec{}, ""
	}
	return template, text
}

func templateText(template corev1.PodTemplateSpec) string {
	text, err := json.Marshal(template)
	if err != nil {
		panic("resources: a pod template without JSON: " + err.Error())
	}
	return string(text)
}
