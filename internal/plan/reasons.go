package plan

// Codes of reasons. Those marked (event) also become an event on the resource once the step is done.
const (
	// CodeBootstrap (event): no pod ever had a role, so the first that answers becomes the primary.
	CodeBootstrap = "Bootstrap"
	// CodeAdopt (event): there was no claim, and what is true was taken over.
	CodeAdopt = "Adopt"
	// CodeFailover (event): the primary is dead, and the best replica takes its place.
	CodeFailover = "Failover"
	// CodeDataLost (event): every node with data is gone, and an empty one becomes the primary.
	CodeDataLost = "DataLost"
	// CodePodDeleted, CodeCordoned, CodeRollout, CodeSwitchover (events): a planned move of the primary, and why.
	CodePodDeleted = "PrimaryPodDeleted"
	CodeCordoned   = "NodeCordoned"
	CodeRollout    = "Rollout"
	CodeSwitchover = "SwitchoverRequested"
	// CodeSwitchoverDone, CodeSwitchoverRefused (event): a person's wish for another primary is fulfilled, or cannot be.
	CodeSwitchoverDone    = "SwitchoverDone"
	CodeSwitchoverRefused = "SwitchoverRefused"
	// CodeWritesDiscarded (event): an old primary came back with writes that nobody else has.
	CodeWritesDiscarded = "WritesDiscarded"
	// CodeTakeOver: another operator may still change roles.
	CodeTakeOver = "TakeOver"
	// CodeLeave: attached pods have no part in the replication any more.
	CodeLeave = "Leave"
	// CodeQuorum: how many replicas must be in sync is to change.
	CodeQuorum = "Quorum"
	// CodeResume: a switchover may have begun, and did not come about.
	CodeResume = "Resume"
	// CodeCloseClients: clients of a node that ceased to be the primary.
	CodeCloseClients = "CloseClients"
	// CodeFinishPromotion: the claim names a node that is not yet the primary.
	CodeFinishPromotion = "FinishPromotion"
	// CodeFreeze: before offsets are compared, nobody may serve or copy any more.
	CodeFreeze = "Freeze"
	// CodeLeadService: the Service leads elsewhere.
	CodeLeadService = "LeadService"
	// CodeNewHistory: the primary's replication id is not the recorded one.
	CodeNewHistory = "NewHistory"
	// CodeOpenReplication: replicas could not log in to the primary.
	CodeOpenReplication = "OpenReplication"
	// CodeAttach: the node does not follow the primary.
	CodeAttach = "Attach"
	// CodeBootRole: what a node starts as by itself must change.
	CodeBootRole = "BootRole"
	// CodeSeed: the operator's passwords need a seed.
	CodeSeed = "Seed"
	// CodeMissing, CodeDiffers, CodeUnwanted: an object is not as it should be.
	CodeMissing  = "Missing"
	CodeDiffers  = "Differs"
	CodeUnwanted = "Unwanted"
	// CodeMarkPod: a pod's labels and annotations must say its role.
	CodeMarkPod = "MarkPod"
	// CodeServes, CodeServesNot: a node began or ceased to serve its role.
	CodeServes    = "Serves"
	CodeServesNot = "ServesNot"
	// CodeAccess: a node's default user must be as the resource asks.
	CodeAccess = "Access"
)
