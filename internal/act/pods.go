package act

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=patch

// patchPod sets labels and annotations of a pod, if it still is the one that was seen.
func (a *Actor) patchPod(ctx context.Context, on *subject, action plan.PatchPod) error {
	metadata := map[string]any{"uid": action.UID} // a precondition: another pod of that name refuses
	if action.Labels != nil {
		metadata["labels"] = action.Labels
	}
	if action.Annotations != nil {
		metadata["annotations"] = action.Annotations
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("building the patch for pod %s: %w", action.Pod, err)
	}
	pod := on.pod(action.Pod)
	if err := a.Writer.Patch(ctx, pod, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("marking pod %s: %w", action.Pod, err)
	}
	a.Written.Wrote("Pod", pod)
	return nil
}

// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// setGate sets the readiness gate of a pod. The patch merges by condition type, so the kubelet's conditions stay.
func (a *Actor) setGate(ctx context.Context, on *subject, action plan.SetGate) error {
	gate := corev1.PodCondition{
		Type: cachev1.GateInSync, Status: corev1.ConditionFalse, Reason: "NotInSync", Message: action.Message,
		LastTransitionTime: metav1.NewTime(time.Now()),
	}
	if action.InSync {
		gate.Status, gate.Reason = corev1.ConditionTrue, "InSync"
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": action.UID},
		"status":   map[string]any{"conditions": []corev1.PodCondition{gate}},
	})
	if err != nil {
		return fmt.Errorf("building the patch for pod %s: %w", action.Pod, err)
	}
	pod := on.pod(action.Pod)
	if err := a.Writer.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner(fieldManager)); err != nil {
		return fmt.Errorf("setting the gate of pod %s: %w", action.Pod, err)
	}
	a.Written.Wrote("Pod", pod)
	return nil
}

func (on *subject) pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: on.snapshot.Want.Key.Namespace, Name: name}}
}
