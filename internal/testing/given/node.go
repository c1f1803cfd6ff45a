package given

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// Option says how a node differs from a settled one.
type Option func(*state.Node)

// UID, RunID and IP are what a node of that name has. Names differ in their first letter.
func UID(name string) types.UID { return types.UID("uid-" + name) }

// RunID is of the first process in that pod.
func RunID(name string) string { return "run-" + name }

// IP is the pod's address.
func IP(name string) string { return "10.0.0." + string(name[0]-'a'+'1') }

func machine(name string) string { return "machine-of-" + name }

// settledAccess stands for the hash of the access that the resource asks for, until the snapshot is finished.
const settledAccess = "as asked for"

// node is a running process that says nothing of a role yet.
func node(name string) state.Node {
	return state.Node{
		Pod: state.Pod{
			Name: name, UID: UID(name), IP: IP(name), RedisPort: port, NodeName: machine(name), Revision: revision,
			Created: Now.Add(-time.Hour), Labels: map[string]string{}, Annotations: map[string]string{},
			Container: state.Container{Running: true},
		},
		Redis: state.Redis{
			RunID: RunID(name), Version: "7.0.15", ReplicationID: "own-" + name, Offset: 1, PreviousOffset: -1, SecondOffset: -1,
			LastHeardSeconds: -1, MinReplicas: -1, MaxLagSeconds: -1,
		},
		Link: state.LinkUp, LinkSince: Now.Add(-time.Hour), Heard: Now, AccessHash: settledAccess,
	}
}

func settled(n *state.Node, role string) {
	n.Pod.Labels[cachev1.LabelRole] = role
	n.Pod.Ready, n.Pod.ContainersReady, n.Pod.InSync, n.Pod.GateSet = true, true, true, true
}

func following(n *state.Node, primary string) {
	n.Redis.Role, n.Redis.PrimaryHost, n.Redis.PrimaryPort = state.RoleReplica, IP(primary), port
}

func fence(n *state.Node) {
	n.Redis.Role, n.Redis.PrimaryHost, n.Redis.PrimaryPort, n.Redis.LinkUp = state.RoleReplica, state.FenceHost, state.FencePort, false
}

// Offset is how far the node's data goes.
func Offset(offset int64) Option { return func(n *state.Node) { n.Redis.Offset = offset } }

// Wrote is how far the node's data went at the answer before the last.
func Wrote(offset int64) Option { return func(n *state.Node) { n.Redis.PreviousOffset = offset } }

// Data is the history of the node's data, and the one it grew out of; empty for none.
func Data(history, older string) Option {
	return func(n *state.Node) { n.Redis.ReplicationID, n.Redis.ReplicationID2 = history, older }
}

// Silent is a node that has not answered for that long.
func Silent(since time.Duration) Option {
	return func(n *state.Node) {
		n.Link, n.LinkSince, n.Heard = state.LinkSilent, Now.Add(-since), Now.Add(-since)
	}
}

// Linked sets how the connection to the node is, since that long ago.
func Linked(link state.Link, since time.Duration) Option {
	return func(n *state.Node) { n.Link, n.LinkSince = link, Now.Add(-since) }
}

// Ended is a node whose container ended, as the kubelet says; its connection was refused at the same time.
func Ended() Option {
	return func(n *state.Node) {
		n.Link, n.LinkSince = state.LinkRefused, Now.Add(-2*time.Second)
		n.Pod.Container = state.Container{Ended: true, LastEnd: "Error, exit code 137"}
	}
}

// Restarted is a node whose process started anew: empty and fenced. Kubernetes still calls it ready.
func Restarted() Option {
	return func(n *state.Node) {
		fence(n)
		n.Redis.RunID += "-2"
		n.Redis.ReplicationID, n.Redis.ReplicationID2 = "own-2-"+n.Pod.Name, ""
		n.Redis.Offset, n.Redis.PreviousOffset, n.Redis.Replicas = 1, -1, nil
		n.ReplicationGeneration, n.AccessHash = 0, settledAccess
		n.Pod.Container.Restarts, n.Pod.Container.LastEnd = 1, "Error, exit code 137"
	}
}

// Writable is a node that says that it is a primary.
func Writable() Option {
	return func(n *state.Node) {
		n.Redis.Role, n.Redis.PrimaryHost, n.Redis.PrimaryPort, n.Redis.LinkUp = state.RolePrimary, "", 0, false
	}
}

// Fenced is a node that copies from nobody and serves nobody; its data stay.
func Fenced() Option { return fence }

// Follows is a node that is told to copy from that one, and cannot get through.
func Follows(primary string) Option {
	return func(n *state.Node) {
		following(n, primary)
		n.Redis.LinkUp = false
	}
}

// LinkDown is a replica that lost its link to the primary that long ago.
func LinkDown(since time.Duration) Option {
	return func(n *state.Node) { n.Redis.LinkUp, n.Redis.LinkDownSeconds = false, int64(since/time.Second) }
}

// Loading is a node that reads its data into memory; Syncing one that copies them over the network.
func Loading() Option { return func(n *state.Node) { n.Redis.Loading = true } }

// Syncing is a node in the middle of a full copy.
func Syncing() Option {
	return func(n *state.Node) { n.Redis.Syncing, n.Redis.LinkUp = true, false }
}

// Terminating is a pod that is being deleted, since a moment ago.
func Terminating() Option { return TerminatingFor(time.Second) }

// TerminatingFor is one that has been for that long.
func TerminatingFor(d time.Duration) Option {
	return func(n *state.Node) { n.Pod.Terminating, n.Pod.Deleted = true, Now.Add(-d) }
}

// NotReady is a pod that Kubernetes does not call ready; its gate is as it was.
func NotReady() Option {
	return func(n *state.Node) { n.Pod.Ready, n.Pod.ContainersReady = false, false }
}

// GateClosed is a pod whose readiness gate was set to False, or never set.
func GateClosed() Option {
	return func(n *state.Node) { n.Pod.InSync, n.Pod.Ready = false, false }
}

// LetIn is the epoch whose replication password the node was handed; 0 for none that is known.
func LetIn(epoch int64) Option { return func(n *state.Node) { n.ReplicationGeneration = epoch } }

// OtherAccess is a node of which it is not known that its default user is as asked.
func OtherAccess() Option { return func(n *state.Node) { n.AccessHash = "" } }

// BootRole gives the pod the annotation by which its next process starts as primary.
func BootRole() Option {
	return func(n *state.Node) { n.Pod.Annotations[cachev1.AnnotationBootRole] = cachev1.BootRolePrimary }
}

// Role sets the pod's label; empty removes it.
func Role(role string) Option {
	return func(n *state.Node) {
		delete(n.Pod.Labels, cachev1.LabelRole)
		if role != "" {
			n.Pod.Labels[cachev1.LabelRole] = role
		}
	}
}

// Unmarked is a pod without the mark of the last to go.
func Unmarked() Option {
	return func(n *state.Node) { delete(n.Pod.Annotations, annotationDeletionCost) }
}

// newer stands for the hash of what the user asks for now, until the snapshot is finished.
const newer = "newer"

// Newer is a pod of the current revision, created later; all that are not newer are then of an older one.
func Newer(revision string) Option {
	return func(n *state.Node) {
		n.Pod.Revision, n.Pod.Created = revision, Now.Add(-time.Minute)
		n.Pod.Annotations[resources.AnnotationUserHash] = newer
	}
}

// Container sets what the kubelet says of the container.
func Container(c state.Container) Option { return func(n *state.Node) { n.Pod.Container = c } }

// Unschedulable has the scheduler's words.
func Unschedulable(words string) Option { return func(n *state.Node) { n.Pod.Unschedulable = words } }

// FrozenFor is a frozen node that was seen so for that long.
func FrozenFor(d time.Duration) Option { return func(n *state.Node) { n.FencedSince = Now.Add(-d) } }

// HeardPrimary is a replica that last heard its primary so many seconds ago.
func HeardPrimary(seconds int64) Option {
	return func(n *state.Node) { n.Redis.LastHeardSeconds = seconds }
}
