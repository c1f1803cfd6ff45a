package sim

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/resources"
)

// dial is an operator's way to a pod. An address where nobody is, or that is cut off, does not answer; one where nothing
// listens refuses.
func (op *operator) dial(ctx context.Context, address redis.Address) (net.Conn, error) {
	w := op.world
	way := hash64(op.name + address.IP)
	time.Sleep(w.latency(way, 100*time.Microsecond, time.Millisecond))
	w.Lock()
	at := w.podAt(address.IP)
	reached := at != nil && w.connected(op.name, address.IP) && !op.isDead
	ours, theirs := net.Pipe()
	s := &session{operator: op, process: w.processAt(address.IP), conn: theirs, way: way}
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
	loggedIn bool
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
		time.Sleep(s.process.world.latency(s.way, 100*time.Microsecond, 900*time.Microsecond))
		if !s.wait() {
			return
		}
		w := s.process.world
		w.Lock()
		reply := ""
		if !s.process.dead && !w.over {
			reply = s.do(words)
		}
		w.Unlock()
		time.Sleep(s.process.world.latency(s.way, 100*time.Microsecond, 900*time.Microsecond))
		if reply == "" || !s.wait() {
			return
		}
		if _, err := io.WriteString(s.conn, reply); err != nil {
			return
		}
	}
}

// broken ends the connection of a process that ended, as soon as the other side can be told. The world is locked.
func (s *session) broken() {
	w := s.process.world
	least, most := 50*time.Microsecond, 300*time.Microsecond
	if !w.connected(s.operator.name, s.process.pod.ip) {
		least, most = 10*time.Millisecond, 50*time.Millisecond
	}
	w.later(w.between(least, most), func() {
		if w.connected(s.operator.name, s.process.pod.ip) {
			_ = s.conn.Close()
			return
		}
		s.broken()
	})
}

// ended is a connection that the operator closed.
func (s *session) ended() {
	w := s.process.world
	w.Lock()
	defer w.Unlock()
	if !s.process.dead || w.over {
		_ = s.conn.Close()
	}
	s.process.sessions = slices.DeleteFunc(s.process.sessions, func(other *session) bool { return other == s })
}

// wait lets time pass while the way is cut or the process is stopped. It returns false once the process is dead.
func (s *session) wait() bool {
	for {
		w := s.process.world
		w.Lock()
		open := w.connected(s.operator.name, s.process.pod.ip) && !s.process.stopped
		dead := s.process.dead || w.over
		w.Unlock()
		if dead || open {
			return !dead
		}
		time.Sleep(s.process.world.latency(s.way, 20*time.Millisecond, 60*time.Millisecond))
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

const ok = "+OK\r\n"

// do carries out one command.
func (s *session) do(words []string) string {
	p := s.process
	command := strings.Join(words[:min(2, len(words))], " ")
	if words[0] == "HELLO" {
		return s.hello(words)
	}
	if !s.loggedIn {
		return "-NOAUTH Authentication required.\r\n"
	}
	switch {
	case words[0] == "INFO":
		text := p.info()
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	case p.loading && words[0] == "REPLICAOF":
		return "-LOADING Redis is loading the dataset in memory\r\n"
	case command == "REPLICAOF NO":
		p.world.checkPromotion(p)
		p.promote()
		return ok
	case words[0] == "REPLICAOF":
		to, _ := strconv.Atoi(words[2])
		p.replicaOf(words[1], to)
		return ok
	case command == "CONFIG SET":
		return s.configSet(words[2:])
	case command == "ACL SETUSER":
		return s.setUser(words[2], words[3:])
	}
	return "-ERR unknown command\r\n"
}

func (s *session) hello(words []string) string {
	if len(words) < 5 || words[3] != credentials.OperatorUser || hashOf(words[4]) != s.process.operatorHash {
		return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	}
	s.loggedIn = true
	return "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n"
}

func (s *session) configSet(pairs []string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == "masterauth" {
			s.process.masterauth = pairs[i+1]
		}
	}
	return ok
}

func (s *session) setUser(user string, rules []string) string {
	if user != credentials.ReplicationUser {
		return ok
	}
	for _, rule := range rules {
		switch {
		case rule == "reset":
			s.process.replication = userState{}
		case rule == "on":
			s.process.replication.on = true
		case strings.HasPrefix(rule, "#"):
			s.process.replication.hash = rule[1:]
		}
	}
	return ok
}

func hashOf(password string) string { return resources.PasswordHash(password) }
