package resources

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// portName names Redis' port in containers, Services and EndpointSlices; kube-proxy pairs the last two by it.
const portName = "redis"

// service leads to the primary. It has no selector: the operator writes its EndpointSlice itself, so that a failover is one
// write. A moved label would take two, and kube-proxy delays the second one by its sync period (measured: 1,083 ms against 91).
func service(want *state.Want) *corev1.Service {
	spec := want.Spec.Service
	s := newService(want, ServiceName(want.Key.Name))
	s.Annotations = maps.Clone(spec.Annotations)
	s.Spec.Type = spec.Type
	s.Spec.Ports = []corev1.ServicePort{servicePort(want)}
	// The API server refuses these two where the type has no use for them; a user who switches the type back and forth may
	// leave them in place.
	if spec.Type == corev1.ServiceTypeNodePort || spec.Type == corev1.ServiceTypeLoadBalancer {
		s.Spec.Ports[0].NodePort = spec.NodePort
	}
	if spec.Type == corev1.ServiceTypeLoadBalancer && spec.LoadBalancerClass != nil {
		s.Spec.LoadBalancerClass = new(*spec.LoadBalancerClass)
	}
	return s
}

// replicasService leads to the replicas that are in sync (the readiness gate keeps the others out).
func replicasService(want *state.Want) *corev1.Service {
	s := newService(want, ReplicasServiceName(want.Key.Name))
	s.Spec.Selector = selectorOf(want.Key.Name, cachev1.RoleReplica)
	s.Spec.Ports = []corev1.ServicePort{podPort(want)}
	return s
}

// primaryService is there for kubectl port-forward, which needs a selector. It is headless, so kube-proxy ignores it.
func primaryService(want *state.Want) *corev1.Service {
	s := newService(want, PrimaryServiceName(want.Key.Name))
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.Selector = selectorOf(want.Key.Name, cachev1.RolePrimary)
	s.Spec.Ports = []corev1.ServicePort{podPort(want)}
	return s
}

// nodesService resolves to all pods, ready or not: it is for people and tools that look at each node.
func nodesService(want *state.Want) *corev1.Service {
	s := newService(want, NodesServiceName(want.Key.Name))
	s.Spec.ClusterIP = corev1.ClusterIPNone
	s.Spec.PublishNotReadyAddresses = true
	s.Spec.Selector = Selector(want.Key.Name)
	s.Spec.Ports = []corev1.ServicePort{podPort(want)}
	return s
}

func newService(want *state.Want, name string) *corev1.Service {
	return &corev1.Service{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: objectMeta(want, name),
	}
}

// servicePort states the protocol, since server-side apply tells ports apart by number and protocol. Without a selector the
// target port means nothing (the EndpointSlice has the pod's own), but its JSON is never left out, and 0 would not stay 0.
func servicePort(want *state.Want) corev1.ServicePort {
	return corev1.ServicePort{
		Name: portName, Port: want.Spec.Port, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(want.Spec.Port),
	}
}

// podPort leads to the pods' own port by its name: during a rollout that changes the port, pods listen on different ones.
func podPort(want *state.Want) corev1.ServicePort {
	port := servicePort(want)
	port.TargetPort = intstr.FromString(portName)
	return port
}
