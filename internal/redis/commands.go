package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"example.com/redis-operator/internal/state"
)

// Info asks the node what it is and does, in one round trip. PreviousOffset is left -1: one answer knows of no other.
//
// Several sections in one INFO and several parameters in one CONFIG GET need Redis 7.0. Both are answered while the node is
// fenced, loads, copies or has its writes paused; not while a script blocks it (BUSY). Other clients' commands may come between
// the two, so the settings are asked for first: a primary's Offset is then never older than MinReplicas, and what is beyond it
// was acknowledged under that value or a later one. A node that refuses CONFIG GET is read without it.
func (n *Node) Info(ctx context.Context) (state.Redis, error) {
	answer, err := n.pipeline(ctx, "INFO", nil,
		[]string{"CONFIG", "GET", minReplicas, maxLag},
		[]string{"INFO", "server", "persistence", "replication", "keyspace"})
	if err != nil {
		return state.Redis{}, err
	}
	text, err := answer[1].toText()
	if err != nil {
		return state.Redis{}, fmt.Errorf("INFO on %s: %w", n.address, err)
	}
	r, err := ParseInfo(text)
	if err == nil && r.Role == state.RolePrimary {
		settings := answer[0].toPairs() // a refusal leaves none, which are then not known
		r.MinReplicas, r.MaxLagSeconds = setting(settings, minReplicas), setting(settings, maxLag)
	}
	return r, err
}

// minReplicas and maxLag are the settings by which a primary refuses writes (NOREPLICAS) unless so many replicas are good: online
// and heard within so many seconds.
const (
	minReplicas = "min-replicas-to-write"
	maxLag      = "min-replicas-max-lag"
)

// SetQuorum makes the node, while it is a primary, refuse writes unless so many replicas were heard within so many seconds. If
// either is 0, it never refuses. Both change at once or not at all (CONFIG SET of several parameters, Redis 7.0), and the good
// replicas are counted anew at once (updateGoodSlaves in Redis' config.c).
func (n *Node) SetQuorum(ctx context.Context, replicas, maxLagSeconds int32) error {
	_, err := n.do(ctx, "CONFIG SET "+minReplicas, nil, "CONFIG", "SET",
		minReplicas, strconv.Itoa(int(replicas)), maxLag, strconv.Itoa(int(maxLagSeconds)))
	return err
}

// ReplicaOf makes the node copy from that one. Redis answers before the link is made; the old data stay until a full copy begins.
func (n *Node) ReplicaOf(ctx context.Context, host string, port int32) error {
	_, err := n.do(ctx, "REPLICAOF "+host, nil, "REPLICAOF", host, strconv.Itoa(int(port)))
	return err
}

// Freeze makes the node copy from nobody: its data and its offset stay as they are.
func (n *Node) Freeze(ctx context.Context) error {
	return n.ReplicaOf(ctx, state.FenceHost, state.FencePort)
}

// PromoteToPrimary makes the node take writes. Repeating it on a primary changes nothing.
func (n *Node) PromoteToPrimary(ctx context.Context) error {
	_, err := n.do(ctx, "REPLICAOF NO ONE", nil, "REPLICAOF", "NO", "ONE")
	return err
}

// SetReplicationLogin sets what the node logs in with at the node that it copies from. A link that is up stays up.
// Both settings change at once or not at all (CONFIG SET of several parameters, Redis 7.0).
func (n *Node) SetReplicationLogin(ctx context.Context, user, password string) error {
	_, err := n.do(ctx, "CONFIG SET masterauth", []string{password}, "CONFIG", "SET", "masteruser", user, "masterauth", password)
	return err
}

// SetUser changes an ACL user by the rules of ACL SETUSER, all or none of them. What is said of passwords, plain or hashed,
// is kept out of errors.
func (n *Node) SetUser(ctx context.Context, user string, rules ...string) error {
	var secrets []string
	for _, rule := range rules {
		if strings.ContainsAny(rule[:min(1, len(rule))], "><#!") {
			secrets = append(secrets, rule[1:])
		}
	}
	_, err := n.do(ctx, "ACL SETUSER "+user, secrets, append([]string{"ACL", "SETUSER", user}, rules...)...)
	return err
}
