package sim

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/redis-operator/internal/redis"
)

// dial is an operator's way to a pod. An address where nobody is, or that is cut off, does not answer; one where nothing
// listens refuses.
func (op *operator) dial(ctx context.Context, address redis.Address) (net.Conn, error) {
	w := op.world
	way := hash64(op.name + address.IP)
	time.Sleep(w.latency(way, 100*time.Microsecond, time.Millisecond))
	w.Lock()
	at := w.podAt(address.IP)
	reached := at != nil && w.network.connected(op.name, address.IP) && !op.isDead
	ours, theirs := net.Pipe()
	s := &session{operator: op, process: w.processAt(address.IP), conn: theirs, way: way, id: w.connection()}
	if reached && s.process != nil {
		s.process.sessions = append(s.process.sessions, s)
	}
	w.Unlock()
	switch {
	case !reached:
		<-ctx.Done()
		return nil, ctx.Err()
	case s.process == nil:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	go s.serve()
	return ours, nil
}

// session is a connection of an operator to a process, at the process' end.
type session struct {
	operator *operator
	process  *process
	conn     net.Conn
	way      uint64
	id       int
	user     string
	resp3    bool
	// killed is a connection that the server closed.
	killed bool
}

// serve reads commands. What was sent arrives, also if the sender gives up waiting for the answer; unless the process ends.
func (s *session) serve() {
	defer s.ended()
	reader := bufio.NewReader(s.conn)
	for {
		words, err := readCommand(reader)
		if err != nil {
			return
		}
		w := s.process.world
		time.Sleep(w.latency(s.way, 100*time.Microsecond, 900*time.Microsecond) + s.trouble())
		if !s.wait(s.operator.name, s.process.pod.ip) {
			return
		}
		var reply strings.Builder
		reply.WriteString(s.answer(words))
		for err == nil && reader.Buffered() > 0 { // a pipeline arrives together
			if words, err = readCommand(reader); err == nil {
				reply.WriteString(s.answer(words))
			}
		}
		time.Sleep(w.latency(s.way, 100*time.Microsecond, 900*time.Microsecond) + s.trouble())
		if reply.String() == "" || !s.wait(s.process.pod.ip, s.operator.name) {
			return
		}
		if _, err := io.WriteString(s.conn, reply.String()); err != nil {
			return
		}
	}
}

// answer carries out a command; a process or a connection that has ended answers nothing.
func (s *session) answer(words []string) string {
	w := s.process.world
	w.Lock()
	defer w.Unlock()
	if s.process.dead || s.killed || w.over {
		return ""
	}
	return s.do(words)
}

// trouble is how much longer a message takes that is lost on its way and sent again; the operator gives up before.
func (s *session) trouble() time.Duration {
	w := s.process.world
	w.Lock()
	defer w.Unlock()
	if !s.operator.redisTrouble[s.process.pod.ip] || !w.oneIn(s.way, 4) {
		return 0
	}
	return w.latency(s.way, 10*time.Millisecond, 2500*time.Millisecond)
}

// broken ends the connection of a process that ended, or that was killed by it, as soon as the other side can be told. The world
// is locked.
func (s *session) broken() {
	w := s.process.world
	w.network.carry(s.process.pod.ip, s.operator.name, w.between(50*time.Microsecond, 300*time.Microsecond), never, func() { _ = s.conn.Close() })
}

// ended is a connection that the operator closed.
func (s *session) ended() {
	w := s.process.world
	w.Lock()
	defer w.Unlock()
	if !s.process.dead && !s.killed || w.over {
		_ = s.conn.Close()
	}
	s.process.sessions = slices.DeleteFunc(s.process.sessions, func(other *session) bool { return other == s })
}

// wait lets time pass while the way is cut or the process is stopped. It returns false once the process or the connection is dead.
func (s *session) wait(from, to string) bool {
	w := s.process.world
	for {
		w.Lock()
		open := w.network.open(from, to) && !s.process.stopped
		dead := s.process.dead || s.killed || w.over
		w.Unlock()
		if dead || open {
			return !dead
		}
		time.Sleep(w.latency(s.way, 20*time.Millisecond, 60*time.Millisecond))
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(strings.Trim(line, "*\r\n"))
	if err != nil {
		return nil, err
	}
	words := make([]string, count)
	for i := range words {
		if _, err := r.ReadString('\n'); err != nil {
			return nil, err
		}
		word, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		words[i] = strings.TrimSuffix(word, "\r\n")
	}
	return words, nil
}
