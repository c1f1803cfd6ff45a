package resources

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/redis-operator/internal/state"
)

// sliceManager keeps Kubernetes' own controllers away from the slice.
const sliceManager = "redis-operator.cache.example.com"

// PrimarySlice leads the Service to the primary and to nothing else. The endpoint is ready by definition: whether the pod is
// the primary is the operator's decision, and kube-proxy must not wait for the pod's readiness to follow it.
func PrimarySlice(want *state.Want, primary *state.Pod) *discoveryv1.EndpointSlice {
	meta := objectMeta(want, PrimarySliceName(want.Key.Name))
	meta.Labels[discoveryv1.LabelServiceName] = ServiceName(want.Key.Name)
	meta.Labels[discoveryv1.LabelManagedBy] = sliceManager
	return &discoveryv1.EndpointSlice{
		TypeMeta:    metav1.TypeMeta{APIVersion: discoveryv1.SchemeGroupVersion.String(), Kind: "EndpointSlice"},
		ObjectMeta:  meta,
		AddressType: addressType(primary.IP),
		Endpoints:   []discoveryv1.Endpoint{endpoint(want, primary)},
		Ports: []discoveryv1.EndpointPort{{
			Name:     new(portName),
			Protocol: new(corev1.ProtocolTCP),
			Port:     new(primary.RedisPort),
		}},
	}
}

func endpoint(want *state.Want, pod *state.Pod) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{
		Addresses:  []string{pod.IP},
		Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
		TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: want.Key.Namespace, Name: pod.Name, UID: pod.UID},
	}
	if pod.NodeName != "" {
		e.NodeName = new(pod.NodeName)
	}
	return e
}

func addressType(ip string) discoveryv1.AddressType {
	if strings.Contains(ip, ":") {
		return discoveryv1.AddressTypeIPv6
	}
	return discoveryv1.AddressTypeIPv4
}
