package redis

import (
	"context"
	"net"
	"sync"
)

// link is a connection on which one question at a time is asked and answered. A goroutine reads from the network at all times,
// also while no question is under way: the end of the server's process is noticed the moment the kernel knows, and what the server
// says without being asked ends the connection. So does all that it must not say (replies).
type link struct {
	conn net.Conn
	// broken is closed once the connection has ended, whoever ended it.
	broken chan struct{}

	mu sync.Mutex
	// listens tells whether the goroutine was started, which ends with the connection.
	listens bool
	// asked is the question under way; nil while there is none.
	asked *question
	// why is the reason of the end; nil before.
	why error
}

// question is one or more commands that were sent together.
type question struct {
	// wanted is the number of commands; so many replies complete the answer.
	wanted int
	// answer is complete, or will not become so, once done is closed; before that it belongs to link.mu.
	answer []reply
	done   chan struct{}
}

func newLink(conn net.Conn) *link { return &link{conn: conn, broken: make(chan struct{})} }

// ask sends a request of so many commands and waits for the replies. An error means that the connection has ended, and why; the
// replies that came before that are returned with it. When the context ends before the answer is complete, so does the connection:
// what comes later would be taken for the answer to the next question.
func (l *link) ask(ctx context.Context, request []byte, commands int) ([]reply, error) {
	q := &question{wanted: commands, done: make(chan struct{})}
	if err := l.begin(q); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { l.end(ctx.Err()) })
	defer stop()

	// Where this fails, the reading side knows why, or is about to: a refusal through a forwarded port arrives there, and so do the
	// words of a server that turns us away before we spoke. The wait ends with the context at the latest.
	_, _ = l.conn.Write(request)
	<-q.done
	if len(q.answer) < commands {
		return q.answer, l.reason()
	}
	return q.answer, nil
}

// begin makes this the question under way, unless the connection has ended. The first one starts the listening: what a server says
// on being connected to, such as that it has too many clients, is its answer to that.
func (l *link) begin(q *question) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why != nil {
		return l.why
	}
	l.asked = q
	if !l.listens {
		l.listens = true
		go l.listen()
	}
	return nil
}

// listen hands on what the server says until the connection ends.
func (l *link) listen() {
	for server := newReplies(l.conn); ; {
		err := server.await()
		if err == nil {
			err = l.take(server)
		}
		if err != nil {
			l.end(err)
			return
		}
	}
}

// take reads the answer to the question under way.
func (l *link) take(server *replies) error {
	wanted := l.wanted()
	if wanted == 0 {
		return errUnasked
	}
	for missing := wanted; missing > 0; missing-- {
		r, err := server.next()
		if err != nil {
			return err
		}
		if missing == 1 && server.more() {
			return errUnasked
		}
		l.hand(r)
	}
	return nil
}

func (l *link) wanted() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		return 0
	}
	return l.asked.wanted
}

// hand adds a reply to the answer. The last one ends the server's turn: what it says from then on ends the connection.
func (l *link) hand(r reply) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.asked
	if q == nil { // the connection was ended meanwhile
		return
	}
	if q.answer = append(q.answer, r); len(q.answer) == q.wanted {
		l.asked = nil
		close(q.done)
	}
}

// end closes the connection; the first reason given is kept.
func (l *link) end(why error) {
	l.mu.Lock()
	first := l.why == nil
	if first {
		l.why = why
		// First the notice: closing may take a moment on a forwarded port.
		close(l.broken)
		if l.asked != nil {
			close(l.asked.done)
			l.asked = nil
		}
	}
	l.mu.Unlock()
	if first {
		_ = l.conn.Close()
	}
}

func (l *link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why
}
