package redis

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is the connection as rueidis sees it. Its own goroutine reads from the network at all times, also while no command is
// under way, so that the end of the server's process is noticed the moment the kernel knows. rueidis alone would notice with
// the next command, or, in its pipelining mode, bring the operator down by a panic when a server says what nobody asked for
// (pipe.go: panic(protocolbug)). Which image runs in a pod is up to its owner, so a server's words are not to be trusted.
type link struct {
	net.Conn
	fromServer *io.PipeReader
	toClient   *io.PipeWriter
	broken     chan struct{}

	mu    sync.Mutex
	guard guard
	ended bool
	why   error
}

func newLink(conn net.Conn) *link {
	l := &link{Conn: conn, broken: make(chan struct{})}
	l.fromServer, l.toClient = io.Pipe()
	go l.listen()
	return l
}

// listen hands on what the server sends until the connection ends.
func (l *link) listen() {
	buffer := make([]byte, 4<<10)
	for {
		count, err := l.Conn.Read(buffer)
		if count > 0 {
			if refusal := l.inspect(buffer[:count]); refusal != nil {
				l.end(refusal)
				return
			}
			if _, closed := l.toClient.Write(buffer[:count]); closed != nil {
				return
			}
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

func (l *link) inspect(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.guard.inspect(data)
}

// expectReplies lets the server say so many things: that many commands are about to be sent.
func (l *link) expectReplies(count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guard = guard{awaited: count}
}

// expectNothing ends the server's turn: what it says from here on ends the connection.
func (l *link) expectNothing() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guard = guard{}
}

// end closes the connection; the first reason given is kept.
func (l *link) end(why error) {
	l.mu.Lock()
	first := !l.ended
	if first {
		l.ended, l.why = true, why
	}
	l.mu.Unlock()
	if !first {
		return
	}
	// First the notice: closing may take a moment on a forwarded port.
	close(l.broken)
	_ = l.toClient.CloseWithError(why)
	_ = l.Conn.Close()
}

// reason is why the connection ended; where it has not, the error at hand.
func (l *link) reason(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return l.why
	}
	return err
}

// Read gives rueidis what the server sent.
func (l *link) Read(p []byte) (int, error) { return l.fromServer.Read(p) }

// Write sends to the server. Where that fails, the reading side knows why, or is about to: a refusal through a forwarded port
// arrives there. The wait ends with the command's context at the latest, which ends the connection.
//
// Once the end is known, nothing is written, also if closing takes a moment more: rueidis, cleaning up after a refused login, lets a
// last PING fail in order to end its goroutine, and leaves it behind for ever where that PING gets through (pipe.go, _background).
func (l *link) Write(p []byte) (int, error) {
	select {
	case <-l.broken:
		return 0, l.reason(errGone)
	default:
	}
	count, err := l.Conn.Write(p)
	if err != nil {
		<-l.broken
	}
	return count, err
}

// Close is called by rueidis after an error of the connection.
func (l *link) Close() error {
	l.end(errors.New("the connection was given up"))
	return nil
}

// SetDeadline does nothing: the context of each command ends the connection in time, whatever the connection is made of.
func (l *link) SetDeadline(time.Time) error { return nil }
