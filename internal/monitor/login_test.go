package monitor

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/state"
)

// lock is a server that knows one password, and notes which ones were tried.
type lock struct {
	mu       sync.Mutex
	password string
	runID    string
	tried    []string
	open     []net.Conn
}

func (l *lock) dial(context.Context, redis.Address) (net.Conn, error) {
	ours, theirs := net.Pipe()
	go l.serve(theirs)
	return ours, nil
}

func (l *lock) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for commands := bufio.NewReader(conn); ; {
		words, err := readCommand(commands)
		if err != nil {
			return
		}
		if _, err := io.WriteString(conn, l.answer(conn, words)); err != nil {
			return
		}
	}
}

func readCommand(r *bufio.Reader) ([]string, error) {
	header, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	count, err := strconv.Atoi(strings.Trim(header, "*\r\n"))
	if err != nil {
		return nil, err
	}
	words := make([]string, count)
	for i := range words {
		if _, err := r.ReadString('\n'); err != nil { // the length
			return nil, err
		}
		if words[i], err = r.ReadString('\n'); err != nil {
			return nil, err
		}
		words[i] = strings.TrimSpace(words[i])
	}
	return words, nil
}

func (l *lock) answer(conn net.Conn, words []string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch words[0] {
	case "AUTH":
		password := words[2]
		l.tried = append(l.tried, password)
		if password != l.password {
			return "-WRONGPASS invalid username-password pair or user is disabled.\r\n"
		}
		l.open = append(l.open, conn)
		return "+OK\r\n"
	case "INFO":
		text := "run_id:" + l.runID + "\nrole:master\n"
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	}
	return "-ERR unknown command\r\n"
}

// tries are the passwords tried since the last call.
func (l *lock) tries() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	tried := l.tried
	l.tried = nil
	return tried
}

// change sets the password, as ACL SETUSER does: open connections stay.
func (l *lock) change(password string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.password = password
}

// hangUp ends all connections; the server that is next connected to is the process of that run id.
func (l *lock) hangUp(runID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.open {
		_ = conn.Close()
	}
	l.open, l.runID = nil, runID
}

var (
	login0 = Login{Generation: 0, Password: "p0"}
	login7 = Login{Generation: 7, Password: "p7"}
	login8 = Login{Generation: 8, Password: "p8"}
)

// trial is a monitor of one lock.
type trial struct {
	*Monitor
	*lock
	t *testing.T
}

func try(t *testing.T, password string, logins ...Login) *trial {
	t.Helper()
	l := &lock{password: password, runID: "r1"}
	m := &trial{Monitor: New(l.dial, func(types.NamespacedName) {}, logr.Discard()), lock: l, t: t}
	t.Cleanup(m.Close)
	m.logins(logins...)
	return m
}

func (m *trial) logins(logins ...Login) {
	m.Watch(types.NamespacedName{Name: "my-redis"}, []Target{{UID: "a", IP: "10.0.0.7", Username: "operator", Logins: logins}})
}

func (m *trial) seen() Observation {
	return m.Observations(types.NamespacedName{Name: "my-redis"})["a"]
}

// await waits until the node has been heard since then.
func (m *trial) await(link state.Link, since time.Time) {
	m.t.Helper()
	require.Eventually(m.t, func() bool {
		o := m.seen()
		return o.Link == link && (link != state.LinkUp || o.Heard.After(since))
	}, 5*time.Second, time.Millisecond, link)
}

// again ends the connection and waits for the next.
func (m *trial) again(runID string) {
	m.t.Helper()
	time.Sleep(restlessInterval) // a connection that breaks sooner is one that the node does not want
	since := time.Now()
	m.hangUp(runID)
	m.await(state.LinkUp, since)
}

func TestLoginsAreTriedInOrderAndTheOneThatWorkedFirst(t *testing.T) {
	m := try(t, "p0", login8, login7, login0)
	m.await(state.LinkUp, time.Time{})
	assert.Equal(t, []string{"p8", "p7", "p0"}, m.tries())
	assert.EqualValues(t, 0, m.seen().OperatorGeneration)

	m.again("r1")
	assert.Equal(t, []string{"p0"}, m.tries())
	m.change("p7")
	m.again("r1")
	assert.Equal(t, []string{"p0", "p8", "p7"}, m.tries())
	assert.EqualValues(t, 7, m.seen().OperatorGeneration)
	m.again("r2")
	assert.Equal(t, []string{"p7"}, m.tries())
	assert.EqualValues(t, 7, m.seen().OperatorGeneration)
}

func TestGenerationZeroIsNotTriedFirstBeforeAnythingWorked(t *testing.T) {
	m := try(t, "p7", login7, login0)
	m.await(state.LinkUp, time.Time{})
	assert.Equal(t, []string{"p7"}, m.tries())
	assert.EqualValues(t, 7, m.seen().OperatorGeneration)
}

func TestDeniedOnlyWhenAllAreRefused(t *testing.T) {
	m := try(t, "p0", login8, login7)
	m.await(state.LinkDenied, time.Time{})
	assert.Equal(t, []string{"p8", "p7"}, m.tries()[:2])
	m.logins(login8, login7, login0)
	m.await(state.LinkUp, time.Time{})
}

func TestChangeOfLoginsKeepsTheConnection(t *testing.T) {
	m := try(t, "p7", login7)
	m.await(state.LinkUp, time.Time{})
	w := m.watcher("a")
	m.tries()
	m.logins(login8, login7)
	m.logins(login7, login0)
	m.logins(login7, login0)
	assert.Same(t, w, m.watcher("a"))
	assert.Empty(t, m.tries())

	m.change("p0")
	m.again("r1")
	assert.Equal(t, []string{"p7", "p0"}, m.tries(), "the new list is used when the connection breaks")

	m.logins(login7, login8)
	m.await(state.LinkDenied, time.Time{})
	assert.NotSame(t, w, m.watcher("a"), "its login is not in the list any more")
	assert.Equal(t, "r1", m.seen().Redis.RunID, "what is known is kept")
}

func TestNotedGenerationIsThatOfTheConnection(t *testing.T) {
	m := try(t, "p7", login7)
	m.await(state.LinkUp, time.Time{})
	w := m.watcher("a")
	m.change("p8")
	m.NoteOperatorGeneration("a", "of another process", 9)
	assert.EqualValues(t, 7, m.seen().OperatorGeneration)
	m.NoteOperatorGeneration("a", "r1", 8)
	assert.EqualValues(t, 8, m.seen().OperatorGeneration)
	w.hurry()
	m.await(state.LinkUp, time.Now())
	assert.EqualValues(t, 8, m.seen().OperatorGeneration, "the next answer does not undo it")

	m.tries()
	m.logins(login0, login8)
	assert.Same(t, w, m.watcher("a"))
	m.again("r1")
	assert.Equal(t, []string{"p8"}, m.tries())
	assert.EqualValues(t, 8, m.seen().OperatorGeneration)
}

func TestTargetWithoutLoginIsLeftOut(t *testing.T) {
	m := try(t, "p7")
	assert.Equal(t, Observation{}, m.seen())
	assert.Nil(t, m.watcher("a"))
}

func TestSameTarget(t *testing.T) {
	base := Target{Namespace: "n", Pod: "p", UID: "a", IP: "10.0.0.7", Port: 6379, Username: "operator", Logins: []Login{login7}}
	for name, change := range map[string]func(*Target){
		"namespace": func(o *Target) { o.Namespace = "x" },
		"pod":       func(o *Target) { o.Pod = "x" },
		"UID":       func(o *Target) { o.UID = "x" },
		"IP":        func(o *Target) { o.IP = "10.0.0.8" },
		"port":      func(o *Target) { o.Port = 1 },
		"username":  func(o *Target) { o.Username = "x" },
	} {
		other := base
		change(&other)
		assert.False(t, base.same(other), name)
	}
	other := base
	other.Logins = []Login{login8}
	assert.True(t, base.same(other))
}
