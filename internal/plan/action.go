package plan

import (
	"fmt"
	"sort"
	"strings"
	"time"

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
	// LostAt is when the primary in Old was lost; zero where it was not.
	LostAt time.Time
}

// TakeOver records a new generation of the operator's own password, by which this operator locks out any other.
type TakeOver struct {
	// Old is the claim that the decision read.
	Old        *cachev1.Claim
	Generation int64
}

// SetOperatorPassword gives the operator's user the password of that generation on a node, and closes its other connections.
type SetOperatorPassword struct {
	Node       Target
	Generation int64
}

// Freeze makes a node serve nobody and copy from nobody; its data and offset stay.
type Freeze struct{ Node Target }

// Demote makes a primary that is not the claimed one serve nobody, and closes its clients. Discards is the number of bytes that
// it wrote and nobody else has; 0 where that is none or not known.
type Demote struct {
	Node     Target
	Discards int64
}

// HandOver stops the writes at the primary and waits until another node has all of them: then nobody is writable, and the other can
// be claimed and promoted without loss. If that does not happen in time the primary goes on.
//
// Without Hold the primary is then frozen, and clients get READONLY there. With Hold the others and To are frozen instead, and the
// primary holds its clients' writes until it is demoted or resumed.
type HandOver struct {
	From, To Target
	Hold     bool
	// Others are the other attached replicas; Witnesses those of them that count for the quorum of the successor, and have to have all
	// that it has.
	Others, Witnesses []Target
}

// Resume ends what a hand-over with Hold began, where it did not come about: the primary needs the quorum on record again, and its
// clients go on.
type Resume struct {
	Node  Target
	Epoch int64
}

// Promote makes a node the primary: open for replicas with the password of the claim's generation, acknowledging with the
// claim's quorum.
type Promote struct {
	Node   Target
	Epoch  int64
	Quorum int32
	MaxLag time.Duration
}

// OpenReplication sets the password of the claim's generation on the primary, so that replicas may copy from it.
type OpenReplication struct {
	Node              Target
	Epoch, Generation int64
}

// SetQuorum sets how many replicas the primary needs in sync, heard within MaxLag, to acknowledge a write; never fewer than are
// on record.
type SetQuorum struct {
	Node   Target
	Epoch  int64
	Quorum int32
	MaxLag time.Duration
}

// RecordQuorum writes the quorum into the claim of that epoch.
type RecordQuorum struct {
	Epoch  int64
	Quorum int32
}

// RecordAttached adds pods that are about to be attached to the claim of that epoch.
type RecordAttached struct {
	Epoch int64
	Pods  []cachev1.ClaimedPod
}

// RecordHistory writes the primary's replication id into the claim of that epoch.
type RecordHistory struct {
	Node  Target
	Epoch int64
}

// Attach makes a node copy from the primary, with the password of that generation, if the claim has it among the attached.
type Attach struct {
	Node              Target
	Primary           Target
	PrimaryIP         string
	PrimaryPort       int32
	Epoch, Generation int64
}

// Leave takes pods out of the record of the attached, with what it takes that they cannot come back by themselves: a new
// password on the primary and on those that stay, unless all leavers are certainly dead (the generation in New says so), and their links
// closed. Those that stay must have all that the leavers may have confirmed before it is written.
type Leave struct {
	Node Target
	Stay []Target
	// IPs are the leavers' addresses.
	IPs    []string
	Old    *cachev1.Claim
	New    cachev1.Claim
	MaxLag time.Duration
}

// CloseReplicas closes the links of replicas at the primary.
type CloseReplicas struct {
	Node Target
	IPs  []string
}

// CloseClients closes all clients of a node that ceased to be the primary.
type CloseClients struct{ Node Target }

// ForgetSwitchover removes the annotation by which a person asked for another primary, if it still asks for that one.
type ForgetSwitchover struct{ Wanted string }

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

func (WriteClaim) action()          {}
func (TakeOver) action()            {}
func (SetOperatorPassword) action() {}
func (Freeze) action()              {}
func (Demote) action()              {}
func (HandOver) action()            {}
func (Resume) action()              {}
func (Promote) action()             {}
func (OpenReplication) action()     {}
func (SetQuorum) action()           {}
func (RecordQuorum) action()        {}
func (RecordAttached) action()      {}
func (RecordHistory) action()       {}
func (Attach) action()              {}
func (Leave) action()               {}
func (CloseReplicas) action()       {}
func (CloseClients) action()        {}
func (ForgetSwitchover) action()    {}
func (PointService) action()        {}
func (CreateSeed) action()          {}
func (Apply) action()               {}
func (Delete) action()              {}
func (PatchPod) action()            {}
func (SetGate) action()             {}
func (SetAccess) action()           {}

// String tells the action in one line.
func (a WriteClaim) String() string {
	return fmt.Sprintf("claim epoch %d for %s", a.New.Epoch, a.New.Primary.Name)
}

// String tells the action in one line.
func (a TakeOver) String() string { return fmt.Sprintf("take over with generation %d", a.Generation) }

// String tells the action in one line.
func (a SetOperatorPassword) String() string {
	return fmt.Sprintf("lock other operators out of %s, by generation %d", a.Node, a.Generation)
}

// String tells the action in one line.
func (a Freeze) String() string { return "freeze " + a.Node.Pod }

// String tells the action in one line.
func (a Promote) String() string { return fmt.Sprintf("promote %s in epoch %d", a.Node, a.Epoch) }

// String tells the action in one line.
func (a OpenReplication) String() string { return "open " + a.Node.Pod + " for its replicas" }

// String tells the action in one line.
func (a Demote) String() string { return "demote " + a.Node.Pod }

// String tells the action in one line.
func (a HandOver) String() string {
	if a.Hold {
		return fmt.Sprintf("hand over from %s to %s, holding writes", a.From, a.To)
	}
	return fmt.Sprintf("hand over from %s to %s", a.From, a.To)
}

// String tells the action in one line.
func (a Resume) String() string { return "let the clients of " + a.Node.Pod + " go on" }

// String tells the action in one line.
func (a SetQuorum) String() string { return fmt.Sprintf("set quorum of %s to %d", a.Node, a.Quorum) }

// String tells the action in one line.
func (a RecordQuorum) String() string { return fmt.Sprintf("record quorum %d", a.Quorum) }

// String tells the action in one line.
func (a RecordAttached) String() string { return "record as attached " + podNames(a.Pods) }

// String tells the action in one line.
func (a Leave) String() string {
	return fmt.Sprintf("let all but %s leave, with quorum %d", podNames(a.New.Attached), a.New.Quorum)
}

// String tells the action in one line.
func (a CloseReplicas) String() string {
	return fmt.Sprintf("close links of %s at %s", strings.Join(a.IPs, ", "), a.Node)
}

// String tells the action in one line.
func (a CloseClients) String() string { return "close clients of " + a.Node.Pod }

// String tells the action in one line.
func (a ForgetSwitchover) String() string { return "forget the wish for " + a.Wanted }

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

func podNames(pods []cachev1.ClaimedPod) string {
	if len(pods) == 0 {
		return "nobody"
	}
	names := make([]string, 0, len(pods))
	for i := range pods {
		names = append(names, pods[i].Name)
	}
	return strings.Join(names, ", ")
}

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
