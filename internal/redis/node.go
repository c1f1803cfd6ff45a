// Package redis talks to one Redis node over one connection.
//
// A connection is one server process: it is never made anew behind the caller's back, so what was once read of the process
// (its run id) holds for as long as the connection does. When the process goes, Broken says so at once.
package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

const (
	// ConnectTimeout limits dialing, the handshake and the login together.
	ConnectTimeout = time.Second
	// CommandTimeout limits one command. A node that does not answer within it is as good as silent.
	CommandTimeout = time.Second
)

// clientName is how the operator's connections show in CLIENT LIST.
const clientName = "redis-operator"

// Credentials are what to log in with. With both empty, nothing is sent and the node's default user must need no password.
type Credentials struct {
	Username string
	Password string
}

// Node is a connection to one Redis process.
type Node struct {
	address Address
	client  rueidis.Client
	link    *link
	// turn has room for the one question that may be under way. rueidis then reads and writes in the caller's goroutine and
	// keeps none of its own.
	turn chan struct{}
}

// Connect dials the node and logs in, within ConnectTimeout or the context, whichever ends first.
//
// The errors of interest are IsRefused (nothing listens there) and IsDenied (the node answers, and refuses the login).
// A fenced node can be connected to: HELLO is among the commands that Redis answers without its data (flag "stale").
func Connect(ctx context.Context, dial Dialer, address Address, credentials Credentials) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, ConnectTimeout)
	defer cancel()
	conn, err := dial(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	n := &Node{address: address, link: newLink(conn), turn: make(chan struct{}, 1)}
	err = n.exchange(ctx, 1, []string{credentials.Password}, func() error {
		deadline, _ := ctx.Deadline()
		n.client, err = rueidis.NewClient(options(n.link, credentials, time.Until(deadline)))
		return err
	})
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("log in to %s: %w", address, err)
	}
	return n, nil
}

// options make rueidis a plain client of exactly one connection: no second one, no retry, no cache, no background ping.
func options(l *link, credentials Credentials, timeout time.Duration) rueidis.ClientOption {
	given := false
	return rueidis.ClientOption{
		InitAddress:       []string{"node"},
		Username:          credentials.Username,
		Password:          credentials.Password,
		ClientName:        clientName,
		ClientSetInfo:     rueidis.DisableClientSetInfo,
		ForceSingleClient: true,
		DisableRetry:      true,
		DisableCache:      true,
		// The operator holds thousands of connections: rueidis' defaults are half a MiB for each buffer.
		PipelineMultiplex:   -1,
		RingScaleEachConn:   1,
		ReadBufferEachConn:  4 << 10,
		WriteBufferEachConn: 1 << 10,
		ConnWriteTimeout:    CommandTimeout,
		// A negative keep-alive turns the background ping off: the monitor asks often enough.
		Dialer: net.Dialer{Timeout: timeout, KeepAlive: -1},
		DialCtxFn: func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error) {
			if given {
				return nil, errGone
			}
			given = true
			return l, nil
		},
	}
}

// Broken is closed once the connection is gone, whichever side ended it.
func (n *Node) Broken() <-chan struct{} { return n.link.broken }

// Close ends the connection. rueidis' own Close is not called: it would send a PING first and wait for the answer. It has
// nothing else to clean up, having neither goroutines nor timers in this mode.
func (n *Node) Close() { n.link.end(errGone) }

// do sends one command and returns its reply. Secrets are kept out of the error, since Redis repeats arguments in some.
func (n *Node) do(ctx context.Context, what string, secrets []string, words ...string) (rueidis.RedisMessage, error) {
	replies, err := n.pipeline(ctx, what, secrets, words)
	if err != nil {
		return rueidis.RedisMessage{}, err
	}
	return replies[0], nil
}

// pipeline sends commands in one go, which is one round trip, and returns their replies in that order. The error is the last
// command's; what the server has against an earlier one stands in the reply to it.
func (n *Node) pipeline(ctx context.Context, what string, secrets []string, commands ...[]string) ([]rueidis.RedisMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, CommandTimeout)
	defer cancel()
	all := make(rueidis.Commands, len(commands))
	for i, words := range commands {
		all[i] = n.client.B().Arbitrary(words...).Build()
	}
	replies := make([]rueidis.RedisMessage, len(commands))
	err := n.exchange(ctx, len(commands), secrets, func() (err error) {
		for i, result := range n.client.DoMulti(ctx, all...) {
			replies[i], err = result.ToMessage()
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s on %s: %w", what, n.address, err)
	}
	return replies, nil
}

// exchange runs one question of one or more commands, and the answer. When the context ends before the answer came, so does the
// connection: the answer, should it come later, would be taken for that of the next question.
func (n *Node) exchange(ctx context.Context, replies int, secrets []string, talk func() error) error {
	select {
	case n.turn <- struct{}{}:
		defer func() { <-n.turn }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	n.link.expectReplies(replies)
	defer n.link.expectNothing()
	stop := context.AfterFunc(ctx, func() { n.link.end(ctx.Err()) })
	defer stop()

	err := talk()
	if err == nil {
		return nil
	}
	if reply, ok := rueidis.IsRedisErr(err); ok {
		return &ReplyError{message: redact(reply.Error(), secrets)}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	// rueidis' deadline and the context's are the same instant; which is noticed first is a matter of luck.
	if errors.Is(err, context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return n.link.reason(err)
}

func redact(message string, secrets []string) string {
	for _, secret := range secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return message
}
