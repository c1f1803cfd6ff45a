package resources

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"example.com/redis-operator/internal/state"
)

func TestServiceHasNoSelectorAndItsSliceFits(t *testing.T) {
	w := everything()
	s := service(w)
	slice := PrimarySlice(w, &state.Pod{Name: "p", UID: "u", IP: "fd00::7", RedisPort: 6379})
	if s.Spec.Selector != nil {
		t.Error("Kubernetes would write slices of its own")
	}
	if *slice.Ports[0].Name != s.Spec.Ports[0].Name || slice.Labels[discoveryv1.LabelServiceName] != s.Name {
		t.Errorf("the slice does not belong to the Service: %+v", slice)
	}
	if slice.AddressType != discoveryv1.AddressTypeIPv6 || *slice.Ports[0].Port != 6379 || slice.Endpoints[0].NodeName != nil {
		t.Errorf("not the pod's own address and port: %+v", slice)
	}
}

func TestServiceDropsWhatItsTypeRefuses(t *testing.T) {
	for serviceType, want := range map[corev1.ServiceType]struct{ nodePort, class bool }{
		corev1.ServiceTypeClusterIP:    {false, false},
		corev1.ServiceTypeNodePort:     {true, false},
		corev1.ServiceTypeLoadBalancer: {true, true},
	} {
		w := everything()
		w.Spec.Service.Type = serviceType
		s := service(w)
		if (s.Spec.Ports[0].NodePort != 0) != want.nodePort || (s.Spec.LoadBalancerClass != nil) != want.class {
			t.Errorf("%s: %+v", serviceType, s.Spec)
		}
	}
}
