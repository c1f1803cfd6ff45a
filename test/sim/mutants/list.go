package main

// mutants are the rules of docs/design/failover.md, each broken in the smallest way.
//
// Two rules are missing, since each is kept twice and breaking one of the two changes nothing: a higher quorum is set before it
// is recorded (decide waits for it, and act checks), and an unattached node may be elected (promoteOlder finds it too).
var mutants = []mutant{
	{
		name: "no-fence", by: "there is no claim|copies all|I1", rule: "a node that starts serves nobody and copies from nobody",
		file: "internal/resources/redisconf.go",
		old:  `{"replicaof", state.FenceHost + " " + strconv.Itoa(state.FencePort)},`,
		new:  `{"replicaof", "no one"}, {"#", state.FenceHost},`,
	},
	{
		name: "no-freeze", rule: "every node that answers is frozen before one is promoted",
		file: "internal/decide/failover.go",
		old:  `if freezeAll(s, s.Claimed(), p) > 0 {`,
		new:  `if false && freezeAll(s, s.Claimed(), p) > 0 {`,
	},
	{
		name: "stale-offsets", rule: "offsets that were read before the freeze do not count",
		file: "internal/decide/failover.go",
		old:  `		return // offsets read before the freeze are stale; the next look decides`,
		new:  `		p.WakeWithin(time.Second)`,
	},
	{
		name: "fewer-frozen", rule: "fewer than the quorum of the attached may be missing",
		file: "internal/decide/failover.go",
		old:  `case len(names) < enough:`,
		new:  `case len(names) <= enough:`,
	},
	{
		name: "lowered-before-record", rule: "a lower quorum is recorded before the primary needs fewer",
		file: "internal/act/quorum.go",
		old: `	if err := a.patchClaim(ctx, on, &action.New); err != nil {
		return err
	}
	return a.onNode(ctx, action.Node, "setting the quorum of", func(ctx context.Context, n *redis.Node) error {
		return n.SetQuorum(ctx, action.New.Quorum, seconds(action.MaxLag))
	})`,
		new: `	if err := a.onNode(ctx, action.Node, "setting the quorum of", func(ctx context.Context, n *redis.Node) error {
		return n.SetQuorum(ctx, action.New.Quorum, seconds(action.MaxLag))
	}); err != nil {
		return err
	}
	return a.patchClaim(ctx, on, &action.New)`,
	},
	{
		name: "raised-early", rule: "a higher quorum is recorded once those in sync have all that was acknowledged without them",
		file: "internal/decide/quorum.go",
		old:  `primary.Redis.MinReplicas == raise && reached(inSync, primary.QuorumMark):`,
		new:  `primary.Redis.MinReplicas == raise && (true || reached(inSync, primary.QuorumMark)):`,
	},
	{
		name: "same-password", rule: "the replication password changes when a pod leaves",
		file: "internal/act/quorum.go",
		old: `	if err := a.onNode(ctx, action.Node, "changing the replication password of", func(ctx context.Context, n *redis.Node) error {
		return n.SetUser(ctx, credentials.ReplicationUser, rules...)`,
		new: `	if err := a.onNode(ctx, action.Node, "changing the replication password of", func(ctx context.Context, n *redis.Node) error {
		_ = rules
		return nil`,
	},
	{
		name: "link-stays", rule: "the link of a pod that leaves is closed, and seen to be",
		file: "internal/act/quorum.go",
		old:  `left, err := n.KillReplicas(ctx, credentials.ReplicationUser, action.IPs)`,
		new:  `left, err := 0, error(nil)`,
	},
	{
		name: "left-behind", rule: "those that stay have all that the primary had before others leave the record",
		file: "internal/act/quorum.go",
		old: `	if err := a.caughtUp(ctx, on, action); err != nil {
		return err
	}
`,
		new: `	_ = a.caughtUp
`,
	},
	{
		name: "lowest-offset", rule: "the highest offset is elected",
		file: "internal/decide/candidate.go",
		old:  `-cmp.Compare(a.Redis.Offset, b.Redis.Offset),`,
		new:  `cmp.Compare(a.Redis.Offset, b.Redis.Offset),`,
	},
	{
		name: "slice-first", rule: "the Service follows once the new primary is one",
		file: "internal/decide/claim.go",
		old:  `	p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: next.Epoch, Quorum: next.Quorum, MaxLag: s.MaxLag()}, code,`,
		new: `	leadService(s, n, p)
	p.Add(plan.Safety, plan.Promote{Node: plan.TargetOf(n), Epoch: next.Epoch, Quorum: next.Quorum, MaxLag: s.MaxLag()}, code,`,
	},
	{
		name: "promote-first", rule: "in a planned move the old primary is demoted first",
		file: "internal/act/protocol_switchover.go",
		old:  `"freezing", func(ctx context.Context, n *redis.Node) error { return n.Freeze(ctx) })`,
		new:  `"freezing", func(ctx context.Context, n *redis.Node) error { return nil })`,
	},
	{
		name: "hold-without-freeze", rule: "while an old primary holds writes, nobody can confirm one there",
		file: "internal/act/protocol_switchover.go",
		old:  `		if err := a.freeze(ctx, plan.Freeze{Node: replica}); err != nil {`,
		new:  `		if err := error(nil); err != nil || replica.Pod == "" {`,
	},
	{
		name: "hold-for-a-moment", rule: "an old primary holds writes until an operator ends that",
		file: "internal/act/protocol_switchover.go",
		old:  `	holdTime = 24 * time.Hour`,
		new:  `	holdTime = 300 * time.Millisecond`,
	},
	{
		name: "resume-without-quorum", rule: "a primary that goes on needs the quorum on record",
		file: "internal/act/protocol_switchover.go",
		old:  `		if heard.Redis.MinReplicas < claim.Quorum {`,
		new:  `		if false && heard.Redis.MinReplicas < claim.Quorum {`,
	},
	{
		name: "doubt-forgotten", rule: "a claim in doubt is settled before roles are touched",
		file:  "internal/act/act.go",
		old:   `	if lane == plan.Safety {`,
		new:   `	if false && lane == plan.Safety {`,
		seeds: 3000,
	},
	{
		name: "old-address", rule: "an attached pod that has another address is put on record anew",
		file:  "internal/decide/roles.go",
		old:   `c.Attached[i].UID == n.Pod.UID && c.Attached[i].IP == n.Pod.IP {`,
		new:   `c.Attached[i].UID == n.Pod.UID {`,
		seeds: 3000,
	},
	{
		name: "no-pause", rule: "writes are paused while the successor catches up",
		file: "internal/act/protocol_switchover.go",
		old:  `return n.PauseWrites(ctx, pauseTime)`,
		new:  `return nil`,
	},
	{
		name: "no-catching-up", rule: "the successor has all that the old primary has",
		file: "internal/act/protocol_switchover.go",
		old:  `if err == nil && at < last.Redis.Offset {`,
		new:  `if false && err == nil && at < last.Redis.Offset {`,
	},
	{
		name: "no-epoch-lock", rule: "the record is written only over the one that was read",
		file: "internal/act/claim.go",
		old:  `client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})`,
		new:  `client.MergeFrom(base)`,
	},
	{
		name: "empty-may-win", rule: "a node without data is no candidate",
		file: "internal/state/questions.go",
		old:  `return n.Redis.ReplicationID == c.ReplicationID || n.Redis.ReplicationID2 == c.ReplicationID`,
		new:  `return n.Redis.ReplicationID == c.ReplicationID || n.Redis.ReplicationID2 == c.ReplicationID || n.Blank()`,
	},
	{
		name: "gate-always", rule: "a readiness gate is opened for a node that serves its role with its data",
		file: "internal/decide/upkeep.go",
		old:  `case serves && !n.Pod.InSync:`,
		new:  `case !n.Pod.InSync:`,
	},
	{
		name: "another-process", rule: "a command is for the process that the decision was made for",
		file: "internal/monitor/do.go",
		old:  `if w.node == nil || runID == "" || w.obs.Redis.RunID != runID {`,
		new:  `if w.node == nil || runID == "" {`,
	},
	{
		name: "refused-is-dead", rule: "a refused connection is no certain death",
		file: "internal/decide/suspicion.go",
		old:  `return verdict{lost: true, why: "nothing listens at its address", since: since}`,
		new:  `return verdict{lost: true, dead: true, why: "nothing listens at its address", since: since}`,
	},
	{
		name: "silent-is-dead", rule: "silence is no certain death",
		file: "internal/decide/suspicion.go",
		old:  `return verdict{lost: true, mayAcknowledge: true, why: what, since: since}`,
		new:  `return verdict{lost: true, dead: true, why: what, since: since}`,
	},
}
