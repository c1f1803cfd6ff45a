// Package redis talks to one Redis node over one connection.
//
// A connection is one server process: it is never made anew behind the caller's back, so what was once read of the process
// (its run id) holds for as long as the connection does. When the process goes, Broken says so at once.
package redis

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// ConnectTimeout limits dialing and the login together.
	ConnectTimeout = time.Second
	// CommandTimeout limits one command. A node that does not answer within it is as good as silent.
	CommandTimeout = time.Second
)

// clientName is how the operator's connections show in CLIENT LIST.
const clientName = "redis-operator"

// Credentials are what to log in with. With both empty, nothing is sent and the node's default user must need no password. A
// password alone is the default user's.
type Credentials struct {
	Username string
	Password string
}

// Node is a connection to one Redis process. Its methods may be called at any time from any goroutine; the questions wait for
// each other.
type Node struct {
	address Address
	link    *link
	// turn has room for the one question that may be under way. (A channel and not a mutex: waiting ends with the context.)
	turn chan struct{}
}

// Connect dials the node and logs in, within ConnectTimeout or the context, whichever ends first.
//
// The errors of interest are IsRefused (nothing listens there) and IsDenied (the node answers, and refuses the login).
// A node that is fenced, loads its data or is blocked by a script (BUSY) can be connected to: AUTH is among the commands that Redis
// answers then too (flags "stale", "loading" and "allow-busy").
func Connect(ctx context.Context, dial Dialer, address Address, credentials Credentials) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	n := &Node{address: address, link: newLink(conn), turn: make(chan struct{}, 1)}
	if err := n.logIn(ctx, credentials); err != nil {
		n.Close()
		return nil, fmt.Errorf("log in to %s: %w", address, err)
	}
	return n, nil
}

// logIn says who we are, in one round trip.
func (n *Node) logIn(ctx context.Context, credentials Credentials) error {
	setName := []string{"CLIENT", "SETNAME", clientName}
	commands := [][]string{setName}
	if credentials != (Credentials{}) {
		commands = [][]string{{"AUTH", cmp.Or(credentials.Username, "default"), credentials.Password}, setName}
	}
	answer, err := n.exchange(ctx, commands)
	for i, r := range answer {
		refusal := r.refusal([]string{credentials.Password})
		// The name is for people only. A node may keep it from us, or have no time for it (BUSY), and yet let us in.
		named := i == len(commands)-1
		if refusal != nil && (!named || IsDenied(refusal) && !strings.HasPrefix(refusal.Error(), "NOPERM")) {
			// It counts also if the connection then ended: so a node turns clients away before they log in, being protected (DENIED)
			// or having too many.
			return refusal
		}
	}
	return err
}

// Broken is closed once the connection is gone, whichever side ended it.
func (n *Node) Broken() <-chan struct{} { return n.link.broken }

// Close ends the connection, and a question that is under way. It may be repeated.
func (n *Node) Close() { n.link.end(errGone) }

// do sends one command and returns its reply. Secrets are kept out of the error, since Redis repeats arguments in some.
func (n *Node) do(ctx context.Context, what string, secrets []string, words ...string) (reply, error) {
	answer, err := n.pipeline(ctx, what, secrets, words)
	if err != nil {
		return reply{}, err
	}
	return answer[0], nil
}

// pipeline sends commands in one go, which is one round trip, and returns their replies in that order. The error is the last
// command's; what the server has against an earlier one stands in the reply to it.
func (n *Node) pipeline(ctx context.Context, what string, secrets []string, commands ...[]string) ([]reply, error) {
	ctx, cancel := context.WithTimeout(ctx, CommandTimeout)
	defer cancel()
	answer, err := n.exchange(ctx, commands)
	if err == nil {
		err = answer[len(answer)-1].refusal(secrets)
	}
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", what, n.address, err)
	}
	return answer, nil
}

// exchange asks one question of one or more commands, when it is its turn.
func (n *Node) exchange(ctx context.Context, commands [][]string) ([]reply, error) {
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var request []byte
	for _, words := range commands {
		request = appendCommand(request, words)
	}
	return n.link.ask(ctx, request, len(commands))
}
