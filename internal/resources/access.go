package resources

import (
	"slices"
	"strings"

	"example.com/redis-operator/internal/state"
)

// The ACL users of every node, besides Redis' own "default".
const (
	// UserOperator is the operator's own user.
	UserOperator = "redis-operator"
	// UserReplication is whom a replica logs in as at its primary.
	UserReplication = "replication"
	// UserProbe is whom the readiness probe logs in as.
	UserProbe = "probe"

	userDefault = "default"
)

// AccessRules is the ACL file that a node boots with. It holds hashes, never a password.
func AccessRules(access state.Access) string {
	var b strings.Builder
	for _, user := range []struct {
		name  string
		rules []string
	}{
		{userDefault, DefaultUserRules(access)},
		{UserOperator, OperatorRules(access.OperatorHash)},
		{UserReplication, ReplicationOffRules()},
		{UserProbe, []string{"reset", "on", "nopass", "+ping", "+role"}},
	} {
		b.WriteString("user " + user.name + " " + strings.Join(user.rules, " ") + "\n")
	}
	return b.String()
}

// DefaultUserRules are the arguments of ACL SETUSER default that make a running node's default user exactly as the resource
// asks. Where the password is not known (access.Missing) the user is off: a password was asked for, so "none" would be wrong.
//
// One ACL SETUSER takes effect as a whole, so the reset at the front is never seen by a client, and open connections stay
// (measured, Redis 7.0: subscribers too).
func DefaultUserRules(access state.Access) []string {
	switch {
	case access.Missing != "":
		return []string{"reset"}
	case access.DefaultHash == "":
		return []string{"reset", "on", "nopass", "~*", "&*", "+@all"}
	default:
		return []string{"reset", "on", "#" + access.DefaultHash, "~*", "&*", "+@all"}
	}
}

// AccessHash tells whether a node's default user is as asked: it changes with DefaultUserRules and with nothing else.
func AccessHash(access state.Access) string { return hashJSON(DefaultUserRules(access)) }

// OperatorRules let the operator manage a node and touch no data: no keys, no channels, none of the commands that reach all
// data without naming a key (FLUSHALL is not in @admin; SYNC, PSYNC, MONITOR and DEBUG are, and are taken out). This guards
// against mistakes, not against a thief of the password: who may use ACL SETUSER can give himself anything.
//
// Without a password the user is off.
func OperatorRules(passwordHash string) []string {
	if passwordHash == "" {
		return []string{"reset"}
	}
	return []string{"reset", "on", "#" + passwordHash, "+@admin", "+@connection", "+info", "+role", "+wait", "+dbsize",
		"-sync", "-psync", "-replconf", "-monitor", "-debug"}
}

// replicationMay is what a replica needs at its primary. SYNC is for the second connection of Valkey's dual channel
// replication, which a user may switch on.
var replicationMay = []string{"+psync", "+sync", "+replconf", "+ping"}

// ReplicationRules are the arguments of ACL SETUSER replication that let in exactly those replicas that know the password.
// At boot the user is off: nobody may copy from a node before the operator has given it a role.
func ReplicationRules(passwordHash string) []string {
	return slices.Concat([]string{"reset", "on", "#" + passwordHash}, replicationMay)
}

// ReplicationOffRules are the arguments of ACL SETUSER replication that let nobody in: as at boot, on a node that is no primary.
func ReplicationOffRules() []string { return slices.Concat([]string{"reset"}, replicationMay) }
