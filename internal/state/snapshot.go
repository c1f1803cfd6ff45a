// Package state holds the nouns of the operator: what is wanted, what exists, what each node last said, and the claim.
//
// Everything here is a plain value. Nothing in it reaches the API server or Redis, reads a clock or remembers; decide and
// report ask the same questions of it, so that what is done and what is said cannot disagree.
package state

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
)

// Snapshot is everything that one look at a resource found.
type Snapshot struct {
	Want    Want
	Objects Objects
	// Nodes are the Redis pods of the resource, sorted by name; each with what its Redis last said.
	Nodes []Node
	// Claim is the record of who is primary; nil where there is none.
	Claim *cachev1.Claim
	// TakenOver is true if this very operator gave the nodes the operator's password that is on record, so that no other can
	// change a role. Without a claim nobody has to be locked out.
	TakenOver bool
	// OvertakenAt is when this operator saw that another one had taken over after it; zero where none has.
	OvertakenAt time.Time
	// PrimaryEnded is true once the kubelet said that no container runs in the claimed pod, since the claimed process was claimed:
	// whatever runs there later is another one.
	PrimaryEnded bool
	// Departed tells what is known of the pods in the claim that no longer exist, by their UID.
	Departed map[types.UID]Departed
	// Machines are the Kubernetes nodes by name, as far as the operator may see them.
	Machines map[string]Machine
}

// Machine is what Kubernetes says of one of its nodes.
type Machine struct {
	// Cordoned is true if no new pods are to be put there.
	Cordoned bool
}

// Want is what the user asked for, with what it needs resolved.
type Want struct {
	Key        types.NamespacedName
	UID        types.UID
	Generation int64
	Created    time.Time
	Spec       cachev1.RedisClusterSpec
	// Deleting is true once the resource is being deleted; its objects then go by cascade.
	Deleting bool
	// ConfirmedDead are the pods that a person vouches are dead, separated by commas (annotation cache.example.com/confirm-dead).
	ConfirmedDead string
	// SwitchoverTo is the pod that a person wants for the primary (annotation cache.example.com/switchover).
	SwitchoverTo string
	Access       Access
}

// Access is who may log in to the nodes. It holds hashes only (SHA-256, lower case hex), never a password.
type Access struct {
	// SeedKnown is false until the resource's Secret with the seed of the operator's passwords was read or made.
	SeedKnown bool
	// OperatorHash is of the password of the operator's own user.
	OperatorHash string
	// DefaultHash is of the default user's password; empty means that it needs none.
	DefaultHash string
	// Missing says in words which Secret or key spec.passwordSecret names in vain; empty where all is there.
	// While it is set, DefaultHash is not known and access is left as it is.
	Missing string
}

// Objects are the objects made for the resource, as the cache shows them.
type Objects struct {
	Workload *appsv1.Deployment
	// PrimarySlice is the EndpointSlice of the Service that leads to the primary.
	PrimarySlice *discoveryv1.EndpointSlice
	// Existing has every object of the kinds that the operator makes that carries this resource's labels or has one of its names.
	Existing map[ObjectKey]Existing
}

// ObjectKey names an object in the resource's namespace.
type ObjectKey struct {
	Kind string
	Name string
}

// Existing is what decide needs to know of an object to tell whether it must be applied, and whether it may be touched.
type Existing struct {
	UID types.UID
	// Controller is the UID of the controlling owner; empty where there is none.
	Controller types.UID
	// Version changes whenever anyone changes the object in a way that matters (not with a workload's status).
	Version string
	// AppliedHash is the hash of the intent that was applied last, if the object still has the version that resulted; else empty.
	AppliedHash string
}

// Departed is what is known of a claimed pod that no longer exists.
type Departed struct {
	// Since is when its absence was first seen; zero while the pod exists.
	Since time.Time
	// Ended is true if its process had ended before the pod disappeared, as the kubelet said last. A pod that was removed by force
	// may run on, also one that was being deleted already.
	Ended bool
	// Machine is what Kubernetes says of the machine that it ran on.
	Machine NodeHealth
}

// NodeHealth is what Kubernetes says of a machine.
type NodeHealth int

const (
	// NodeHealthUnknown: not looked at, or its kubelet does not report.
	NodeHealthUnknown NodeHealth = iota
	// NodeHealthReady: its kubelet reports, so a pod that is gone from it has ended.
	NodeHealthReady
	// NodeHealthGone: Kubernetes knows no such machine any more, or it is marked out of service.
	NodeHealthGone
)

// Node is a Redis pod and what its Redis last said.
type Node struct {
	Pod   Pod
	Redis Redis
	Link  Link
	// Heard is when Redis was last heard; zero means never.
	Heard time.Time
	// LinkSince is when Link became what it is.
	LinkSince time.Time
	// AccessHash is the hash of the access rules that the operator last set on this very process; empty means not yet.
	AccessHash string
	// ReplicationGeneration is the generation of the replication password that this operator last handed to this very process, or
	// let in there; 0 means none. AttachedAt is when.
	ReplicationGeneration int64
	AttachedAt            time.Time
	// OperatorGeneration is the generation of the operator's password by which the connection logged in.
	OperatorGeneration int64
	// FencedSince is when this process was first seen to copy from nobody and serve nobody; zero while it is not so.
	FencedSince time.Time
	// DemotedAt is when this process ceased to be the primary: its role changed, or this operator holds its writes (Held). Zero if it
	// never did.
	DemotedAt time.Time
	// QuorumMark is a primary's offset when Redis.MinReplicas was first seen at its present value: what is beyond it was
	// acknowledged under that value.
	QuorumMark int64
}

// Link is how the operator's connection to a node is.
type Link int

const (
	// LinkNone: no connection was tried yet (the pod has no address).
	LinkNone Link = iota
	// LinkConnecting: a first connection is being tried.
	LinkConnecting
	// LinkUp: the node answers.
	LinkUp
	// LinkRefused: the address answers that nothing listens there (more than once, some milliseconds apart).
	LinkRefused
	// LinkSilent: no answer.
	LinkSilent
	// LinkDenied: the node answers, and refuses the operator's user.
	LinkDenied
)

// String names the link for messages.
func (l Link) String() string {
	return [...]string{"not tried", "connecting", "up", "refused", "silent", "denied"}[l]
}

// Pod is what Kubernetes says of a Redis pod.
type Pod struct {
	Name string
	UID  types.UID
	IP   string
	// RedisPort is the port that this pod's Redis listens on; it may differ from spec.port during a rollout.
	RedisPort   int32
	NodeName    string
	Created     time.Time
	Labels      map[string]string
	Annotations map[string]string
	// Revision is the pod template's hash; pods of one revision carry the same one.
	Revision string
	// Terminating is true once the pod is being deleted; Deleted is since when.
	Terminating bool
	Deleted     time.Time
	// Ready is the pod's condition Ready; ContainersReady and InSync (the gate) are the two conditions that it is made of. The
	// kubelet puts them together at its next look at the pod, which may be two seconds later.
	Ready           bool
	ContainersReady bool
	InSync          bool
	// GateSet is true once the gate's condition exists.
	GateSet   bool
	Container Container
	// Unschedulable has the scheduler's words where no node takes the pod.
	Unschedulable string
}

// Container is what the kubelet says of the Redis container.
type Container struct {
	Running  bool
	Restarts int32
	// Waiting and WaitingMessage are the kubelet's reason and words while the container does not run, such as ImagePullBackOff.
	Waiting, WaitingMessage string
	// Ended is true while the container does not run and has run before; then nothing of its process is left.
	Ended bool
	// LastEnd says how the last run ended ("OOMKilled, exit code 137"); empty where none did. ExitCode is of that run.
	LastEnd  string
	ExitCode int32
}

// Role is what a node's Redis says it is.
type Role string

const (
	// RolePrimary takes writes; INFO says "master".
	RolePrimary Role = "master"
	// RoleReplica copies from another, or is fenced; INFO says "slave".
	RoleReplica Role = "slave"
)

// Redis is what a node's INFO said, parsed once.
type Redis struct {
	RunID         string
	Version       string
	Role          Role
	Loading       bool
	UptimeSeconds int64
	// ReplicationID and ReplicationID2 name the history of the data; the second one is valid up to SecondOffset.
	ReplicationID  string
	ReplicationID2 string
	SecondOffset   int64
	// Offset is how far the node is in that history, in bytes: what it wrote as primary, or applied as replica.
	Offset int64
	// PreviousOffset is Offset as of the answer before; -1 where there was none from this process.
	PreviousOffset int64
	// HasKeys is true if any database holds a key.
	HasKeys bool
	// PrimaryHost, PrimaryPort, LinkUp, Syncing, LinkDownSeconds: a replica's link to what it copies from.
	PrimaryHost     string
	PrimaryPort     int32
	LinkUp          bool
	Syncing         bool
	LinkDownSeconds int64
	// LastHeardSeconds is how long ago, in whole seconds, a replica last heard its primary; -1 while its link is down.
	LastHeardSeconds int64
	// Replicas are those that a primary says are connected.
	Replicas []ReplicaLink
	// MinReplicas and MaxLagSeconds are a primary's min-replicas-to-write and min-replicas-max-lag; -1 where it is none.
	MinReplicas, MaxLagSeconds int32
}

// ReplicaLink is one connected replica, as its primary tells it.
type ReplicaLink struct {
	IP     string
	Port   int32
	Online bool
	Offset int64
	// LagSeconds is how long ago, in whole seconds, the replica last acknowledged.
	LagSeconds int64
}

// FenceHost and FencePort are where a fenced node is told to copy from: nothing listens there, so it serves nobody.
const (
	FenceHost = "127.0.0.1"
	FencePort = 1
)
