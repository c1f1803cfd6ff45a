// Package given builds snapshots for tests in one line a case:
//
//	given.Replicated(3).Primary("a", given.Ended()).Replica("b", given.Offset(900)).Replica("c").Snapshot()
//
// What a case does not mention is settled: objects are applied, gates are open, marks are set. So a plan made of the snapshot
// holds only what the case is about.
package given

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// Now is the moment at which every case is looked at.
var Now = time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)

const (
	// History is the replication id on record.
	History = "history-1"
	// Older is the one it grew out of.
	Older = "history-0"
	// ResourceUID is of the RedisCluster.
	ResourceUID = "uid-of-the-resource"

	port     = 6379
	maxLag   = 3
	revision = "rev1"
	// costPrimary is what decide writes to mark the last pod to go.
	costPrimary = "1000"
)

// Cluster is a snapshot that is being built.
type Cluster struct {
	snapshot state.Snapshot
	// workloadSize is the replica count of the live Deployment.
	workloadSize int32
	noObjects    bool
	last         []func(*state.Snapshot)
}

// Replicated is a resource of that size, settled, without pods and without a claim.
func Replicated(size int32) *Cluster {
	return &Cluster{
		workloadSize: size,
		snapshot: state.Snapshot{TakenOver: true, Want: state.Want{
			Key: types.NamespacedName{Namespace: "ns", Name: "r"}, UID: ResourceUID, Generation: 1,
			Spec: cachev1.RedisClusterSpec{
				Size: size, Image: "redis:7.0", Port: port,
				Failover: cachev1.FailoverSpec{TimeoutSeconds: 5, Policy: cachev1.FailoverSafe},
				Service:  cachev1.ServiceSpec{Type: "ClusterIP"},
			},
			Access: state.Access{SeedKnown: true, OperatorHash: resources.PasswordHash("operator")},
		}},
	}
}

// BestEffort sets the failover policy.
func (c *Cluster) BestEffort() *Cluster {
	c.snapshot.Want.Spec.Failover.Policy = cachev1.FailoverBestEffort
	return c
}

// Scaled lets the live Deployment have another number of replicas than spec asks for.
func (c *Cluster) Scaled(from int32) *Cluster {
	c.workloadSize = from
	return c
}

// NoObjects lets nothing exist in Kubernetes yet, and nothing that was made from it.
func (c *Cluster) NoObjects() *Cluster {
	c.noObjects = true
	return c
}

// Claim records a pod as primary in an epoch, whether it exists or not. The run id is the one that Node gives.
func (c *Cluster) Claim(name string, epoch int64) *Cluster {
	c.snapshot.Claim = &cachev1.Claim{
		Epoch:         epoch,
		Primary:       cachev1.ClaimedPod{Name: name, UID: UID(name), IP: IP(name), NodeName: machine(name)},
		RunID:         RunID(name),
		ReplicationID: History, ReplicationGeneration: epoch,
	}
	return c
}

// Attached puts pods among the attached of the claim, and sets its quorum, whatever else is given.
func (c *Cluster) Attached(quorum int32, names ...string) *Cluster {
	return c.With(func(s *state.Snapshot) {
		if n := s.Claimed(); n != nil && n.Redis.Role == state.RolePrimary {
			n.Redis.MinReplicas = quorum
		}
		s.Claim.Quorum, s.Claim.Attached = quorum, nil
		for _, name := range names {
			s.Claim.Attached = append(s.Claim.Attached, cachev1.ClaimedPod{Name: name, UID: UID(name), IP: IP(name), NodeName: machine(name)})
		}
	})
}

// NoClaim is the loss of the record.
func (c *Cluster) NoClaim() *Cluster {
	c.snapshot.Claim = nil
	return c
}

// Primary is a settled primary that the claim (epoch 1) names and that the Service leads to.
func (c *Cluster) Primary(name string, options ...Option) *Cluster {
	c.Claim(name, 1)
	n := node(name)
	n.Redis.Role, n.Redis.ReplicationID, n.Redis.Offset, n.Redis.PreviousOffset = state.RolePrimary, History, 1000, 900
	n.ReplicationGeneration, n.Redis.MinReplicas, n.Redis.MaxLagSeconds = 1, 0, maxLag
	settled(&n, cachev1.RolePrimary)
	n.Pod.Annotations[annotationDeletionCost] = costPrimary
	if c.snapshot.Want.Spec.Size == 1 {
		n.Pod.Annotations[cachev1.AnnotationBootRole] = cachev1.BootRolePrimary
	}
	pod := n.Pod
	c.snapshot.Objects.PrimarySlice = resources.PrimarySlice(&c.snapshot.Want, &pod)
	return c.add(n, options)
}

const annotationDeletionCost = "controller.kubernetes.io/pod-deletion-cost"

// Replica is a settled replica of the claimed primary.
func (c *Cluster) Replica(name string, options ...Option) *Cluster {
	n := node(name)
	following(&n, c.snapshot.Claim.Primary.Name)
	n.Redis.LinkUp, n.Redis.LastHeardSeconds, n.Redis.ReplicationID, n.Redis.Offset = true, 0, History, 1000
	n.ReplicationGeneration = c.snapshot.Claim.ReplicationGeneration
	settled(&n, cachev1.RoleReplica)
	c.add(n, options)
	c.attached(name)
	return c
}

// Frozen is a replica that was told to copy from nobody, with its data.
func (c *Cluster) Frozen(name string, options ...Option) *Cluster {
	n := node(name)
	fence(&n)
	n.Redis.ReplicationID, n.Redis.Offset, n.FencedSince = History, 1000, Now.Add(-10*time.Second)
	settled(&n, cachev1.RoleReplica)
	c.add(n, options)
	c.attached(name)
	return c
}

// attached puts a node among the attached of the claim, with the quorum that this allows for, and lets the primary list it.
func (c *Cluster) attached(name string) {
	claim, n := c.snapshot.Claim, c.snapshot.NodeByUID(UID(name))
	if claim == nil || claim.Primary.UID == n.Pod.UID {
		return
	}
	claim.Attached = append(claim.Attached, cachev1.ClaimedPod{Name: name, UID: n.Pod.UID, IP: n.Pod.IP, NodeName: n.Pod.NodeName})
	primary := c.snapshot.Claimed()
	inSync := primary != nil && n.CopiesFrom(primary)
	if inSync || primary == nil || n.Fenced() {
		claim.Quorum = min(c.snapshot.Majority(), claim.Quorum+1)
	}
	if inSync {
		primary.Redis.Replicas = append(primary.Redis.Replicas, state.ReplicaLink{IP: n.Pod.IP, Port: port, Online: true, Offset: n.Redis.Offset})
	}
	if primary != nil && n.Redis.Syncing {
		primary.Redis.Replicas = append(primary.Redis.Replicas, state.ReplicaLink{IP: n.Pod.IP, Port: port})
	}
	if primary != nil && primary.Redis.Role == state.RolePrimary {
		primary.Redis.MinReplicas = claim.Quorum
	}
}

// Started is a node that just booted: fenced, without data, without a role, not ready.
func (c *Cluster) Started(name string, options ...Option) *Cluster {
	n := node(name)
	fence(&n)
	return c.add(n, options)
}

// Creating is a pod whose Redis has not run yet.
func (c *Cluster) Creating(name string, options ...Option) *Cluster {
	n := node(name)
	n.Redis, n.Link, n.Heard, n.Pod.IP, n.Pod.Container = state.Redis{}, state.LinkNone, time.Time{}, "", state.Container{}
	n.AccessHash = ""
	return c.add(n, options)
}

// Departed is what is known of the claimed pod, which does not exist any more.
func (c *Cluster) Departed(d state.Departed) *Cluster {
	if c.snapshot.Claim != nil {
		c.snapshot.Departed = map[types.UID]state.Departed{c.snapshot.Claim.Primary.UID: d}
	}
	return c
}

// With changes anything else, last.
func (c *Cluster) With(change func(*state.Snapshot)) *Cluster {
	c.last = append(c.last, change)
	return c
}

func (c *Cluster) add(n state.Node, options []Option) *Cluster {
	for _, option := range options {
		option(&n)
	}
	c.snapshot.Nodes = append(c.snapshot.Nodes, n)
	return c
}

// Snapshot is the finished snapshot.
func (c *Cluster) Snapshot() *state.Snapshot {
	s := &c.snapshot
	s.Objects.Existing = map[state.ObjectKey]state.Existing{}
	if !c.noObjects {
		c.objects()
	}
	hash := resources.AccessHash(s.Want.Access)
	for i := range s.Nodes {
		if n := &s.Nodes[i]; n.AccessHash == settledAccess {
			n.AccessHash = hash
		}
	}
	c.revisions()
	for _, change := range c.last {
		change(s)
	}
	return s
}

// revisions gives each pod the hash of the revision that it is of.
func (c *Cluster) revisions() {
	current, others := resources.UserHash(&c.snapshot.Want), resources.UserHash(&c.snapshot.Want)
	for i := range c.snapshot.Nodes {
		if c.snapshot.Nodes[i].Pod.Annotations[resources.AnnotationUserHash] == newer {
			others = "older"
		}
	}
	for i := range c.snapshot.Nodes {
		annotations := c.snapshot.Nodes[i].Pod.Annotations
		if annotations[resources.AnnotationUserHash] == newer {
			annotations[resources.AnnotationUserHash] = current
		} else {
			annotations[resources.AnnotationUserHash] = others
		}
	}
}

// objects makes everything exist as it would be applied now.
func (c *Cluster) objects() {
	s := &c.snapshot
	for _, object := range resources.All(&s.Want, nil, c.workloadSize) {
		if workload, ok := object.(*appsv1.Deployment); ok {
			workload.Generation, workload.Status = 1, appsv1.DeploymentStatus{
				ObservedGeneration: 1, Replicas: c.workloadSize, UpdatedReplicas: c.workloadSize,
			}
			s.Objects.Workload = workload
		}
	}
	for _, object := range resources.All(&s.Want, s.Objects.Workload, c.workloadSize) {
		c.exists(object.GetObjectKind().GroupVersionKind().Kind, object)
	}
	if slice := s.Objects.PrimarySlice; slice != nil {
		c.exists("EndpointSlice", slice)
	}
}

func (c *Cluster) exists(kind string, object resources.Object) {
	owner := metav1.GetControllerOf(object)
	c.snapshot.Objects.Existing[state.ObjectKey{Kind: kind, Name: object.GetName()}] = state.Existing{
		UID: types.UID("uid-of-" + kind + "-" + object.GetName()), Controller: owner.UID, Version: "1", AppliedHash: resources.Hash(object),
	}
}
