package plan

import (
	"fmt"
	"sort"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// Action is one thing that act can do. Every action checks its precondition on the live target again, and may be repeated.
type Action interface {
	fmt.Stringer
	action()
}

// NameOf is the name of an action's type, for metrics.
func NameOf(a Action) string { return strings.TrimPrefix(fmt.Sprintf("%T", a), "plan.") }

// Object is any Kubernetes object as a value.
type Object interface {
	metav1.Object
	runtime.Object
}

// Target names a Redis process: the pod and the run id that the decision was made for. A process with another run id is left alone.
type Target struct {
	Pod   string
	UID   types.UID
	RunID string
}

// String is the pod's name.
func (t Target) String() string { return t.Pod }

// TargetOf is the process that a node's Redis is now.
func TargetOf(n *state.Node) Target {
	return Target{Pod: n.Pod.Name, UID: n.Pod.UID, RunID: n.Redis.RunID}
}

// WriteClaim records who is primary, if the record still is what the decision read (by epoch and primary).
type WriteClaim struct {
	// Old is the claim that the decision read; nil where there was none.
	Old *cachev1.Claim
	New cachev1.Claim
}

// Freeze makes a node serve nobody and copy from nobody; its data and offset stay.
type Freeze struct{ Node Target }

// Promote makes a node the primary and opens it for replicas with the epoch's replication password.
type Promote struct {
	Node  Target
	Epoch int64
}

// OpenReplication sets the epoch's replication password on the primary, so that replicas may copy from it.
type OpenReplication struct {
	Node  Target
	Epoch int64
}

// RecordHistory writes the primary's replication id into the claim of that epoch.
type RecordHistory struct {
	Node  Target
	Epoch int64
}

// Attach makes a node copy from the primary, with the epoch's replication password.
type Attach struct {
	Node        Target
	Primary     Target
	PrimaryIP   string
	PrimaryPort int32
	Epoch       int64
}

// PointService makes the Service lead to one pod, in one write.
type PointService struct {
	Pod   string
	Slice *discoveryv1.EndpointSlice
}

// SeedKey is the key of the seed in the resource's own Secret.
const SeedKey = "seed"

// CreateSeed makes the Secret with the random seed of the operator's passwords, if there is none.
type CreateSeed struct{}

// Apply makes an object as wanted, by server-side apply. Hash is of the intent.
type Apply struct {
	Object Object
	Kind   string
	Hash   string
	// Missing is true if the cache shows no such object; it may exist all the same and belong to someone else.
	Missing bool
}

// Delete removes an object that is owned and no longer wanted.
type Delete struct {
	Key state.ObjectKey
	UID types.UID
}

// PatchPod sets labels and annotations of a pod; a nil value removes one.
type PatchPod struct {
	Pod         string
	UID         types.UID
	Labels      map[string]*string
	Annotations map[string]*string
}

// SetGate sets the readiness gate of a pod.
type SetGate struct {
	Pod     string
	UID     types.UID
	InSync  bool
	Message string
}

// SetAccess sets the default user of a node as the resource asks.
type SetAccess struct {
	Node        Target
	DefaultHash string
	Hash        string
}

func (WriteClaim) action()      {}
func (Freeze) action()          {}
func (Promote) action()         {}
func (OpenReplication) action() {}
func (RecordHistory) action()   {}
func (Attach) action()          {}
func (PointService) action()    {}
func (CreateSeed) action()      {}
func (Apply) action()           {}
func (Delete) action()          {}
func (PatchPod) action()        {}
func (SetGate) action()         {}
func (SetAccess) action()       {}

// String tells the action in one line.
func (a WriteClaim) String() string {
	return fmt.Sprintf("claim epoch %d for %s", a.New.Epoch, a.New.Primary.Name)
}

// String tells the action in one line.
func (a Freeze) String() string { return "freeze " + a.Node.Pod }

// String tells the action in one line.
func (a Promote) String() string { return fmt.Sprintf("promote %s in epoch %d", a.Node, a.Epoch) }

// String tells the action in one line.
func (a OpenReplication) String() string {
	return fmt.Sprintf("open %s for replicas of epoch %d", a.Node, a.Epoch)
}

// String tells the action in one line.
func (a RecordHistory) String() string { return "record the history of " + a.Node.Pod }

// String tells the action in one line.
func (a Attach) String() string { return fmt.Sprintf("attach %s to %s", a.Node, a.Primary) }

// String tells the action in one line.
func (a PointService) String() string { return "lead the Service to " + a.Pod }

// String tells the action in one line.
func (CreateSeed) String() string { return "create the seed" }

// String tells the action in one line.
func (a Apply) String() string { return fmt.Sprintf("apply %s %s", a.Kind, a.Object.GetName()) }

// String tells the action in one line.
func (a Delete) String() string { return fmt.Sprintf("delete %s %s", a.Key.Kind, a.Key.Name) }

// String tells the action in one line.
func (a PatchPod) String() string {
	return fmt.Sprintf("mark pod %s:%s%s", a.Pod, settings(a.Labels), settings(a.Annotations))
}

// String tells the action in one line.
func (a SetGate) String() string { return fmt.Sprintf("set gate of %s to %t", a.Pod, a.InSync) }

// String tells the action in one line.
func (a SetAccess) String() string { return "set access of " + a.Node.Pod }

func settings(values map[string]*string) string {
	parts := make([]string, 0, len(values))
	for key, value := range values {
		text := "-"
		if value != nil {
			text = "=" + *value
		}
		parts = append(parts, " "+key[strings.LastIndex(key, "/")+1:]+text)
	}
	sort.Strings(parts)
	return strings.Join(parts, "")
}
