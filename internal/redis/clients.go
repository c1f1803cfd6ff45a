package redis

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// PauseWrites makes the node hold back clients that want to write, for this long (in whole milliseconds, from the node's receipt
// of the command on) or until Unpause. Reads, replication and the operator's own commands go on; so does the offset, by the
// PINGs to the replicas. What is held back is carried out or refused by the role that the node has when the pause ends; a change of
// the role does not end it. A second pause makes the first one longer, never shorter.
//
// PUBLISH counts as writing, and so do scripts that may write (MAY_REPLICATE in server.c). WAIT is held up too: replicas are not
// asked to acknowledge meanwhile (beforeSleep in server.c).
func (n *Node) PauseWrites(ctx context.Context, d time.Duration) error {
	_, err := n.do(ctx, "CLIENT PAUSE", nil, "CLIENT", "PAUSE", strconv.FormatInt(d.Milliseconds(), 10), "WRITE")
	return err
}

// Unpause ends a pause. Where there is none, it changes nothing.
func (n *Node) Unpause(ctx context.Context) error {
	_, err := n.do(ctx, "CLIENT UNPAUSE", nil, "CLIENT", "UNPAUSE")
	return err
}

// KillClients closes the connections of all clients but this one, subscribers among them, and tells how many those were. Links
// of replication stay: of replicas, and to a primary.
func (n *Node) KillClients(ctx context.Context) (int, error) {
	ordinary, err := n.kill(ctx, "TYPE", "normal")
	if err != nil {
		return 0, err
	}
	subscribers, err := n.kill(ctx, "TYPE", "pubsub")
	return ordinary + subscribers, err
}

// KillOthers closes all connections of an ACL user but this one, of whatever type. A user that does not exist is an error.
func (n *Node) KillOthers(ctx context.Context, user string) error {
	_, err := n.kill(ctx, "USER", user)
	return err
}

// KillReplicas closes the links of those replicas whose connection comes from one of these IPs, and tells how many of such links
// there still are. The number counts only if the error is nil.
//
// A connection that logged in as the replication user and has not asked to be fed yet (PSYNC) is an ordinary client to Redis, and
// stays logged in when the password changes (ACL SETUSER); it could become a link at any later time. So those of this user are all
// closed first, from whatever IP: a replica that meant no harm logs in again.
func (n *Node) KillReplicas(ctx context.Context, user string, ips []string) (left int, err error) {
	from := make([]netip.Addr, len(ips))
	for i, ip := range ips {
		address, err := netip.ParseAddr(ip)
		if err != nil {
			return 0, fmt.Errorf("close links of replicas: %w", err)
		}
		from[i] = address.Unmap()
	}
	if _, err := n.kill(ctx, "TYPE", "normal", "USER", user); err != nil {
		return 0, err
	}
	links, err := n.replicaLinks(ctx, from)
	if err != nil {
		return 0, err
	}
	for _, id := range links {
		if _, err := n.kill(ctx, "ID", id); err != nil {
			return 0, err
		}
	}
	links, err = n.replicaLinks(ctx, from)
	return len(links), err
}

// replicaLinks are the ids of the links to replicas at these addresses.
func (n *Node) replicaLinks(ctx context.Context, from []netip.Addr) ([]string, error) {
	answer, err := n.do(ctx, "CLIENT LIST", nil, "CLIENT", "LIST", "TYPE", "replica")
	if err != nil {
		return nil, err
	}
	text, err := answer.toText()
	if err != nil {
		return nil, fmt.Errorf("CLIENT LIST on %s: %w", n.address, err)
	}
	var links []string
	for line := range strings.Lines(text) {
		id, address, err := parseClient(line)
		if err != nil {
			return nil, fmt.Errorf("CLIENT LIST on %s: %w", n.address, err)
		}
		if slices.Contains(from, address) {
			links = append(links, id)
		}
	}
	return links, nil
}

// parseClient reads a line of CLIENT LIST: "id=7 addr=10.0.0.7:40112 laddr=10.0.0.1:6379 fd=8 name= ...", or "addr=[fd00::7]:40112"
// (catClientInfoString in Redis' networking.c).
func parseClient(line string) (id string, address netip.Addr, err error) {
	var from string
	for field := range strings.FieldsSeq(line) {
		if value, ok := strings.CutPrefix(field, "id="); ok {
			id = value
		} else if value, ok := strings.CutPrefix(field, "addr="); ok {
			from = value
		}
	}
	at, err := netip.ParseAddrPort(from)
	if id == "" || err != nil {
		return "", netip.Addr{}, fmt.Errorf("the client %q has no id or no address", short(line))
	}
	return id, at.Addr().Unmap(), nil
}

// kill closes the connections that all these filters name, but never this one, and tells how many.
func (n *Node) kill(ctx context.Context, filters ...string) (int, error) {
	what := "CLIENT KILL " + strings.Join(filters, " ")
	answer, err := n.do(ctx, what, nil, slices.Concat([]string{"CLIENT", "KILL"}, filters, []string{"SKIPME", "yes"})...)
	if err != nil {
		return 0, err
	}
	count, err := answer.toInteger()
	if err != nil {
		return 0, fmt.Errorf("%s on %s: %w", what, n.address, err)
	}
	return int(count), nil
}
