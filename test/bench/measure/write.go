// Package measure makes numbers of what clients saw: the longest time without an acknowledgement, acknowledged writes that were
// lost, and errors by kind. It reaches nothing, so that a table of cases can try it.
package measure

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// Write is one numbered key that a client tried to write.
type Write struct {
	Number int
	// Link counts the client's connections. What went over one connection went to one server, in this order.
	Link int
	// Acked is when the server said OK; zero if it did not.
	Acked time.Time
	// Confirmed is when WAIT said that a replica has it; zero if it did not, or was not asked.
	Confirmed time.Time
}

// Client is what one client did.
type Client struct {
	// Name is the beginning of its keys.
	Name string
	// Waits tells whether it follows each write by WAIT.
	Waits  bool
	Writes []Write
	Errors map[Kind]int
	// Began and Ended are from when to when it wrote.
	Began, Ended time.Time
}

// Kind is what went wrong, as a client tells it apart.
type Kind string

// The kinds of errors. A server's own are the first word of its reply.
const (
	Closed      Kind = "closed"
	Timeout     Kind = "timeout"
	Refused     Kind = "refused"
	Unreachable Kind = "unreachable"
	ReadOnly    Kind = "READONLY"
	MasterDown  Kind = "MASTERDOWN"
	NoReplicas  Kind = "NOREPLICAS"
	Loading     Kind = "LOADING"
	Other       Kind = "other"
)

// Kinds are all of them, in the order in which tables show them.
var Kinds = []Kind{Closed, ReadOnly, MasterDown, NoReplicas, Loading, Timeout, Refused, Unreachable, Other}

// KindOfReply tells the kind of a server's error reply.
func KindOfReply(reply string) Kind {
	word, _, _ := strings.Cut(strings.TrimPrefix(reply, "-"), " ")
	switch kind := Kind(word); kind {
	case ReadOnly, MasterDown, NoReplicas, Loading:
		return kind
	default:
		return Other
	}
}

// KindOfError tells the kind of a connection's error.
func KindOfError(err error) Kind {
	var network net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unreachable
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return Timeout
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return Closed
	}
	return Other
}
