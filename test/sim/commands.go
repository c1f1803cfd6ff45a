package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	ok             = "+OK\r\n"
	syntaxError    = "-ERR syntax error\r\n"
	unknownCommand = "-ERR unknown command\r\n"
)

func integer(n int) string { return ":" + strconv.Itoa(n) + "\r\n" }

func bulk(text string) string { return "$" + strconv.Itoa(len(text)) + "\r\n" + text + "\r\n" }

// prose is text for people, INFO and CLIENT LIST: a string, which in RESP3 says of what format it is.
func (s *session) prose(text string) string {
	if !s.resp3 {
		return bulk(text)
	}
	return "=" + strconv.Itoa(len(text)+4) + "\r\ntxt:" + text + "\r\n"
}

// do carries out one command of an operator. What is not known here is an error, so that a client that changes shows.
func (s *session) do(words []string) string {
	p := s.process
	switch words[0] {
	case "HELLO":
		return s.hello(words)
	case "AUTH":
		return s.auth(words[1:])
	}
	if s.user == "" {
		return "-NOAUTH Authentication required.\r\n"
	}
	switch strings.Join(words[:min(2, len(words))], " ") {
	case "REPLICAOF NO":
		if p.loading {
			return loadingError
		}
		p.world.checkPromotion(p, s.operator)
		p.promote()
		return ok
	case "CONFIG SET":
		return p.configSet(words[2:])
	case "CONFIG GET":
		return s.configGet(words[2:])
	case "ACL SETUSER":
		return p.setUser(words[2], words[3:])
	case "CLIENT SETNAME":
		return ok
	case "CLIENT PAUSE":
		return p.clientPause(words[2:])
	case "CLIENT UNPAUSE":
		p.unpause()
		return ok
	case "CLIENT KILL":
		return s.clientKill(words[2:])
	case "CLIENT LIST":
		return s.clientList(words[2:])
	}
	switch words[0] {
	case "INFO":
		return s.prose(p.info())
	case "PING":
		return "+PONG\r\n"
	case "REPLICAOF":
		if p.loading {
			return loadingError
		}
		to, err := strconv.Atoi(words[2])
		if err != nil {
			return "-ERR Invalid master port\r\n"
		}
		p.world.checkToldToCopy(p, words[1], s.operator)
		p.replicaOf(words[1], to)
		return ok
	}
	return unknownCommand
}

const loadingError = "-LOADING Redis is loading the dataset in memory\r\n"

// hello logs in and speaks RESP3 from then on.
func (s *session) hello(words []string) string {
	if len(words) < 5 {
		return syntaxError
	}
	if refusal := s.auth(words[3:5]); refusal != ok {
		return refusal
	}
	s.resp3 = true
	return "%2\r\n$6\r\nserver\r\n$5\r\nredis\r\n$5\r\nproto\r\n:3\r\n"
}

// auth takes user and password.
func (s *session) auth(words []string) string {
	if len(words) != 2 || !s.process.users[words[0]].admits(words[1]) {
		return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
	}
	s.user = words[0]
	return ok
}

// configSet is CONFIG SET of one or more settings, all or none.
func (p *process) configSet(pairs []string) string {
	next := p.quorum
	counted := false
	for i := 0; i+1 < len(pairs); i += 2 {
		value, err := strconv.Atoi(pairs[i+1])
		switch pairs[i] {
		case "masterauth", "masteruser":
			err = nil
		case "min-replicas-to-write":
			next.minReplicas, counted = value, true
		case "min-replicas-max-lag":
			next.maxLag, counted = int64(value), true
		default:
			return "-ERR Unknown option or number of arguments for CONFIG SET - '" + pairs[i] + "'\r\n"
		}
		if err != nil || value < 0 {
			return "-ERR CONFIG SET failed\r\n"
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i] == "masterauth" {
			p.masterauth = pairs[i+1]
		}
	}
	if p.minReplicas != next.minReplicas {
		p.needsSince = time.Now()
	}
	p.minReplicas, p.maxLag = next.minReplicas, next.maxLag
	if counted {
		p.recount()
		p.world.tell("redis: %s needs %d replicas heard within %d s", p.runID, p.minReplicas, p.maxLag)
	}
	p.world.checkOnePrimary()
	return ok
}

// configGet is CONFIG GET of one or more names; what is not known is left out.
func (s *session) configGet(names []string) string {
	p := s.process
	values := map[string]string{
		"min-replicas-to-write": strconv.Itoa(p.minReplicas), "min-replicas-max-lag": strconv.FormatInt(p.maxLag, 10),
		"masteruser": replicationUser, "masterauth": p.masterauth, "repl-timeout": strconv.Itoa(int(replTimeout / time.Second)),
	}
	var b strings.Builder
	count := 0
	for _, name := range names {
		if value, known := values[name]; known {
			count++
			b.WriteString(bulk(name) + bulk(value))
		}
	}
	if s.resp3 {
		return "%" + strconv.Itoa(count) + "\r\n" + b.String()
	}
	return "*" + strconv.Itoa(2*count) + "\r\n" + b.String()
}

func (p *process) clientPause(words []string) string {
	if len(words) != 2 || words[1] != "WRITE" {
		return syntaxError
	}
	ms, err := strconv.Atoi(words[0])
	if err != nil {
		return "-ERR timeout is not an integer or out of range\r\n"
	}
	p.world.tell("redis: %s pauses writes for %d ms", p.runID, ms)
	p.pauseWrites(time.Duration(ms) * time.Millisecond)
	return ok
}

// clientList is CLIENT LIST TYPE replica; of a client, what a caller may need.
func (s *session) clientList(words []string) string {
	if len(words) != 2 || !strings.EqualFold(words[0], "TYPE") || words[1] != "replica" && words[1] != "slave" {
		return syntaxError
	}
	var b strings.Builder
	for _, r := range s.process.fed {
		fmt.Fprintf(&b, "id=%d addr=%s:%d laddr=%s:%d fd=9 name= age=1 idle=0 flags=S db=0 sub=0 psub=0 multi=-1 cmd=replconf user=%s redir=-1 resp=2\n",
			r.id, r.to.pod.ip, 30000+r.id%30000, s.process.pod.ip, port, replicationUser)
	}
	return s.prose(b.String())
}

// clientKill is CLIENT KILL with filters: ID, TYPE, USER and SKIPME. It answers with how many it closed.
func (s *session) clientKill(words []string) string {
	filter := map[string]string{"SKIPME": "yes"}
	for i := 0; i+1 < len(words); i += 2 {
		filter[strings.ToUpper(words[i])] = words[i+1]
	}
	if len(words)%2 != 0 || len(filter) < 2 {
		return syntaxError
	}
	p, count := s.process, 0
	matches := func(id int, kind, user string) bool {
		return (filter["ID"] == "" || filter["ID"] == strconv.Itoa(id)) && (filter["USER"] == "" || filter["USER"] == user) &&
			(filter["TYPE"] == "" || filter["TYPE"] == kind || filter["TYPE"] == "slave" && kind == "replica")
	}
	for _, other := range slices.Clone(p.sessions) {
		if matches(other.id, "normal", other.user) && (other != s || !strings.EqualFold(filter["SKIPME"], "yes")) {
			count++
			other.killed = true
			other.broken()
		}
	}
	for _, g := range slices.Clone(p.guests) {
		if matches(g.id, "normal", "default") {
			count++
			g.close()
		}
	}
	for _, r := range slices.Clone(p.fed) {
		if matches(r.id, "replica", replicationUser) {
			count++
			p.world.tell("redis: %s closes the link of %s", p.runID, r.to.runID)
			r.closeAtPrimary()
		}
	}
	return integer(count)
}
