package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is one word for people on how the resource is. It is derived from the conditions; nothing decides from it.
//
// +kubebuilder:validation:Enum=Pending;Running;Scaling;Updating;FailingOver;Degraded;Failed
type Phase string

const (
	// PhasePending: not yet served for the first time.
	PhasePending Phase = "Pending"
	// PhaseRunning: a primary serves, and all size nodes have its data.
	PhaseRunning Phase = "Running"
	// PhaseScaling: the primary serves; nodes are being added or removed.
	PhaseScaling Phase = "Scaling"
	// PhaseUpdating: the primary serves; pods are being replaced after a change.
	PhaseUpdating Phase = "Updating"
	// PhaseFailingOver: the primary is lost, another is being put in its place.
	PhaseFailingOver Phase = "FailingOver"
	// PhaseDegraded: something is wrong that does not pass by itself; the condition Degraded says what.
	PhaseDegraded Phase = "Degraded"
	// PhaseFailed: nothing serves and the operator cannot go on without a person; the condition Degraded says why.
	PhaseFailed Phase = "Failed"
)

// RedisClusterStatus is what the operator last saw.
type RedisClusterStatus struct {
	// phase is one word on how the resource is: Pending, Running, Scaling, Updating, FailingOver, Degraded or Failed.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// nodes are the names of the Redis pods, sorted.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`

	// readyReplicas is the number of pods that serve their role with its data, the primary included.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas"`

	// replicas is the number of Redis pods that exist and are not being removed, the primary included.
	// +optional
	Replicas int32 `json:"replicas"`

	// primary is the name of the pod that takes writes.
	// +optional
	Primary string `json:"primary,omitempty"`

	// selector selects the Redis pods, in the form that the scale subresource (kubectl scale, autoscalers) needs.
	// +optional
	Selector string `json:"selector,omitempty"`

	// version is what the primary's server says of itself, for example "7.0.15".
	// +optional
	Version string `json:"version,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions say how the resource is, each with a reason that a person can act on. See docs/conditions.md.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// claim is the operator's own record of who is primary. It is written before what it claims is done;
	// do not edit it. If it is lost, the operator adopts what is true.
	// +optional
	Claim *Claim `json:"claim,omitempty"`
}

// Claim is the operator's record of who is primary. It is the only part of status that decisions read.
type Claim struct {
	// epoch counts the changes of the primary; it only grows.
	// +required
	Epoch int64 `json:"epoch"`

	// primary is the pod that is, or is about to be made, the primary.
	// +required
	Primary ClaimedPod `json:"primary"`

	// runID is the run id of the primary's server process. Another one at the same pod means that it restarted, and lost its data.
	// +optional
	RunID string `json:"runID,omitempty"`

	// replicationID is the newest replication id known to belong to this data. Nodes that carry it have the data or a part of its past.
	// +optional
	ReplicationID string `json:"replicationID,omitempty"`

	// attached are the pods that may copy from the primary: told to, or about to be. Whoever has an open link to the primary, or
	// knows the password in force there, is among them.
	// +listType=atomic
	// +optional
	Attached []ClaimedPod `json:"attached,omitempty"`

	// quorum is the number of replicas that the primary certainly needs in sync before it acknowledges a write. A write that
	// WAIT confirmed for as many replicas survives any one fault.
	// +optional
	Quorum int32 `json:"quorum"`

	// replicationGeneration counts the passwords by which replicas log in at the primary.
	// +optional
	ReplicationGeneration int64 `json:"replicationGeneration,omitempty"`

	// operatorGeneration counts the passwords of the operator's own user: a new leader changes it before it changes a role.
	// +optional
	OperatorGeneration int64 `json:"operatorGeneration,omitempty"`
}

// ClaimedPod identifies a pod beyond its name, which another pod may get later.
type ClaimedPod struct {
	// name of the pod.
	// +required
	Name string `json:"name"`

	// uid of the pod.
	// +required
	UID types.UID `json:"uid"`

	// ip is the address by which its replicas know it.
	// +optional
	IP string `json:"ip,omitempty"`

	// nodeName is the Kubernetes node that the pod runs on.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
}
