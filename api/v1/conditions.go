package v1

// Condition types of a RedisCluster. docs/conditions.md explains each, with its reasons, to users; a test keeps the two together.
const (
	// ConditionAvailable is True while the claimed primary answers as a primary and the Service leads to it: clients can write.
	ConditionAvailable = "Available"
	// ConditionReady is True when the primary serves and all spec.size nodes have its data and run what spec asks for.
	ConditionReady = "Ready"
	// ConditionProgressing is True while the operator or Kubernetes works towards the spec and nothing stands in the way.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True when something stands in the way that does not pass by itself; reason and message say what to do.
	ConditionDegraded = "Degraded"
	// ConditionDataAtRisk is True while fewer replicas than half of spec.size must confirm a write: the loss of one node may then take
	// writes with it that WAIT had confirmed.
	ConditionDataAtRisk = "DataAtRisk"
)

// Reasons of the conditions.
const (
	// ReasonServing (Available): the primary serves.
	ReasonServing = "Serving"
	// ReasonNoPrimary (Available): no primary serves yet, or no longer.
	ReasonNoPrimary = "NoPrimary"
	// ReasonAllNodesInSync (Ready): the primary and all its replicas serve with the same data.
	ReasonAllNodesInSync = "AllNodesInSync"
	// ReasonNodesNotReady (Ready, Progressing): some nodes do not yet serve; the message names them.
	ReasonNodesNotReady = "NodesNotReady"
	// ReasonRollingOut (Ready, Progressing): pods are being replaced after a change.
	ReasonRollingOut = "RollingOut"
	// ReasonScaling (Ready, Progressing): pods are being added or removed.
	ReasonScaling = "Scaling"
	// ReasonSettled (Progressing): what spec asks for is there.
	ReasonSettled = "Settled"
	// ReasonHealthy (Degraded): nothing stands in the way.
	ReasonHealthy = "Healthy"
	// ReasonPaused (Progressing): spec.paused is true, nothing is changed.
	ReasonPaused = "Paused"
	// ReasonPodCannotStart (Degraded): a container does not start; the message has the pod and the kubelet's words.
	ReasonPodCannotStart = "PodCannotStart"
	// ReasonPodUnschedulable (Degraded): no node takes a pod; the message has the pod and the scheduler's words.
	ReasonPodUnschedulable = "PodUnschedulable"
	// ReasonPodsNotCreated (Degraded): Kubernetes refuses to create pods (quota, admission); the message has its words.
	ReasonPodsNotCreated = "PodsNotCreated"
	// ReasonPodCrashing (Degraded): a container ends again and again, or ended before it ever served; the message has the pod and how it ended.
	ReasonPodCrashing = "PodCrashing"
	// ReasonSecretMissing (Degraded, Ready, Progressing): spec.passwordSecret names a Secret or a key that does not exist.
	ReasonSecretMissing = "SecretMissing"
	// ReasonNameConflict (Degraded): an object that this resource needs exists already and belongs to something else.
	ReasonNameConflict = "NameConflict"
	// ReasonPrimaryUnreachable (Degraded): the primary is silent, and it is not certain that it is dead.
	ReasonPrimaryUnreachable = "PrimaryUnreachable"
	// ReasonReplicasUnaccounted (Degraded): the primary is dead, and a node that may hold newer data does not answer.
	ReasonReplicasUnaccounted = "ReplicasUnaccounted"
	// ReasonAmbiguousPrimary (Degraded): there is no claim, and several nodes say they are the primary.
	ReasonAmbiguousPrimary = "AmbiguousPrimary"
	// ReasonAmbiguousHistory (Degraded): there is no claim and no primary, and the nodes hold data of different histories.
	ReasonAmbiguousHistory = "AmbiguousHistory"
	// ReasonAccessDenied (Degraded): a node refuses the operator's own user.
	ReasonAccessDenied = "AccessDenied"
	// ReasonNoHealthyReplica (Degraded): the primary is to move, and no replica is in sync to take over.
	ReasonNoHealthyReplica = "NoHealthyReplica"
	// ReasonQuorumMet (DataAtRisk): as many replicas as wanted must confirm a write.
	ReasonQuorumMet = "QuorumMet"
	// ReasonQuorumBelowTarget (DataAtRisk): too few replicas are in sync to demand that as many confirm a write.
	ReasonQuorumBelowTarget = "QuorumBelowTarget"
	// ReasonSingleNode (DataAtRisk): spec.size is 1, so there is no replica.
	ReasonSingleNode = "SingleNode"
	// ReasonStepFailed (Degraded): a step of the operator fails again and again; the message has the step and the error.
	ReasonStepFailed = "StepFailed"
)

// Labels and annotations that the operator reads or writes.
const (
	// LabelRole is on every Redis pod that has a role: "primary" or "replica".
	LabelRole = "cache.example.com/role"
	// RolePrimary and RoleReplica are the values of LabelRole.
	RolePrimary = "primary"
	RoleReplica = "replica"

	// AnnotationBootRole on a pod becomes a line of its redis.conf: what the node is when its process starts again.
	AnnotationBootRole = "cache.example.com/boot-role"
	// BootRolePrimary lets a node start as primary by itself; only the one node of a resource of size 1 has it.
	BootRolePrimary = "replicaof no one"

	// AnnotationConfirmDead on a RedisCluster names a pod that a person vouches is dead and will not come back with its data.
	AnnotationConfirmDead = "cache.example.com/confirm-dead"

	// AnnotationSwitchover on a RedisCluster names the pod that is to become the primary; the operator removes it once it has
	// tried.
	AnnotationSwitchover = "cache.example.com/switchover"

	// GateInSync is the readiness gate of the Redis pods: True while the node serves its role with its data.
	GateInSync = "cache.example.com/in-sync"
)
