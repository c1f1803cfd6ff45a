package redis

import (
	"context"
	"strconv"
	"strings"

	"example.com/redis-operator/internal/state"
)

// Info asks the node what it is and does. PreviousOffset is left -1: one answer knows of no other.
//
// Several sections in one INFO need Redis 7.0. INFO is answered while the node is fenced, loads or copies; not while a script
// blocks it (BUSY).
func (n *Node) Info(ctx context.Context) (state.Redis, error) {
	text, err := n.do(ctx, "INFO", nil, "INFO", "server", "persistence", "replication")
	if err != nil {
		return state.Redis{}, err
	}
	return ParseInfo(text)
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
