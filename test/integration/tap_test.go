//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redis-operator/internal/redis"
)

// tap is on all that one operator says to the world. It counts what changes something (writes to the API server, commands to
// Redis), and can cut the operator off before or after any of them: for the world, that is a crash.
type tap struct {
	mu     sync.Mutex
	writes []string
	// cutAt is the write, from 1, at which to cut; 0 is never. how says what becomes of it.
	cutAt int
	how   fate
	cut   bool
	conns map[*tappedConn]bool
	// crashed is closed once the operator is cut off and the last write, if it was to be carried out, was.
	crashed chan struct{}
	// release lets a late write go; arrived is closed once it was carried out.
	release, arrived chan struct{}
	// away makes the API server refuse everything but the watches that are open.
	away bool

	// requests are those to the API server, without watches, with when they were made.
	requests []request

	// delayed holds back what watches of pods say by this much.
	delayed time.Duration
}

type request struct {
	at   time.Time
	what string
}

var (
	errCut  = errors.New("the operator crashed (test)")
	errAway = errors.New("the API server is away (test)")
)

func newTap() *tap {
	return &tap{
		conns: map[*tappedConn]bool{}, crashed: make(chan struct{}),
		release: make(chan struct{}), arrived: make(chan struct{}),
	}
}

// fate is what becomes of the write at which an operator crashes.
type fate int

const (
	// lost: it is not carried out.
	lost fate = iota
	// carriedOut: it is carried out, and its answer is dropped.
	carriedOut
	// late: it is on its way, and arrives when the test releases it.
	late
)

// String names the fate, after the moment of the crash.
func (f fate) String() string { return [...]string{"before", "after", "late"}[f] }

// verdict is what to do with a write.
type verdict int

const (
	pass verdict = iota
	refuse
	carryOutLast
	carryOutLate
)

// arm cuts the operator off at the n-th write from now.
func (t *tap) arm(n int, how fate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes, t.cutAt, t.how = nil, n, how
}

// count starts counting anew.
func (t *tap) count() { t.arm(0, lost) }

// setAway makes the API server refuse everything, or no longer.
func (t *tap) setAway(away bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.away = away
}

func (t *tap) isAway() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.away
}

// counted are the writes since count or arm.
func (t *tap) counted() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.writes)
}

func (t *tap) write(what string) verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cut {
		return refuse
	}
	t.writes = append(t.writes, what)
	if t.cutAt == 0 || len(t.writes) < t.cutAt {
		return pass
	}
	t.cut = true
	switch t.how {
	case carriedOut:
		return carryOutLast
	case late:
		t.end()
		return carryOutLate
	case lost:
	}
	t.end()
	return refuse
}

// crash cuts the operator off now.
func (t *tap) crash() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.cut {
		t.cut = true
		t.end()
	}
}

// landed says that the last write was carried out.
func (t *tap) landed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end()
}

// end closes all connections to Redis. It needs t.mu.
func (t *tap) end() {
	select {
	case <-t.crashed:
		return
	default:
	}
	close(t.crashed)
	for conn := range t.conns {
		_ = conn.endUnlessLate()
	}
}

func (t *tap) isCut() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cut
}

// requestsSince are the requests to the API server since then, without watches.
func (t *tap) requestsSince(then time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var found []string
	for _, r := range t.requests {
		if r.at.After(then) {
			found = append(found, r.what)
		}
	}
	return found
}

func (t *tap) requestsMade() []request {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}

// delay holds back what watches of pods say from now on by this much.
func (t *tap) delay(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.delayed = d
}

func (t *tap) delayNow() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.delayed
}

// transport wraps the operator's way to the API server.
func (t *tap) transport(next http.RoundTripper) http.RoundTripper { return tappedTransport{t, next} }

type tappedTransport struct {
	tap  *tap
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t tappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	what := r.Method + " " + r.URL.Path
	if _, object, found := strings.Cut(r.URL.Path, "/namespaces/"); found {
		what = r.Method + " " + strings.TrimPrefix(object[strings.Index(object+"/", "/"):], "/")
	}
	if r.Method == http.MethodGet && r.URL.Query().Get("watch") == "true" {
		return t.watch(r)
	}
	t.tap.noteRequest(what, r)
	isEvent := strings.Contains(r.URL.Path, "/events")
	switch {
	case t.tap.isCut():
		return nil, errCut
	case t.tap.isAway():
		return nil, errAway
	case r.Method == http.MethodGet || isEvent: // events are written in the background, at no certain moment
		return t.next.RoundTrip(r)
	}
	switch t.tap.write(what) {
	case refuse:
		return nil, errCut
	case carryOutLast:
		defer t.tap.landed()
		response, err := t.next.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		return nil, errCut
	case carryOutLate:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		waiting := r.Clone(context.WithoutCancel(r.Context()))
		waiting.Body = io.NopCloser(bytes.NewReader(content))
		go func() {
			<-t.tap.release
			defer close(t.tap.arrived)
			if response, err := t.next.RoundTrip(waiting); err == nil {
				_ = response.Body.Close()
			}
		}()
		return nil, errCut
	case pass:
	}
	return t.next.RoundTrip(r)
}

// noteRequest keeps what was asked, of a change of status with its content.
func (t *tap) noteRequest(what string, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/status") && r.Body != nil {
		content, err := io.ReadAll(r.Body)
		if err == nil {
			what += " " + string(content)
		}
		r.Body = io.NopCloser(bytes.NewReader(content))
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, request{time.Now(), what})
}

func (t tappedTransport) watch(r *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/pods") {
		response.Body = newSlowBody(response.Body, t.tap)
	}
	return response, err
}

// slowBody hands on what it reads after the tap's delay.
type slowBody struct {
	io.ReadCloser
	pieces chan piece
	done   chan struct{}
	rest   []byte
}

type piece struct {
	data []byte
	err  error
	due  time.Time
}

func newSlowBody(body io.ReadCloser, t *tap) *slowBody {
	s := &slowBody{ReadCloser: body, pieces: make(chan piece, 10000), done: make(chan struct{})}
	go func() {
		for {
			buffer := make([]byte, 32<<10)
			n, err := body.Read(buffer)
			select {
			case s.pieces <- piece{buffer[:n], err, time.Now().Add(t.delayNow())}:
			case <-s.done:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// Read implements io.Reader.
func (s *slowBody) Read(p []byte) (int, error) {
	if len(s.rest) == 0 {
		select {
		case next := <-s.pieces:
			select {
			case <-time.After(time.Until(next.due)):
			case <-s.done:
				return 0, net.ErrClosed
			}
			if len(next.data) == 0 {
				return 0, next.err
			}
			s.rest = next.data
		case <-s.done:
			return 0, net.ErrClosed
		}
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (s *slowBody) Close() error {
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	return s.ReadCloser.Close()
}

// dialer wraps the operator's way to Redis.
func (t *tap) dialer(next redis.Dialer) redis.Dialer {
	return func(ctx context.Context, address redis.Address) (net.Conn, error) {
		if t.isCut() {
			return nil, errCut
		}
		conn, err := next(ctx, address)
		if err != nil {
			return nil, err
		}
		tapped := &tappedConn{Conn: conn, tap: t, pod: address.Pod}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.cut {
			_ = conn.Close()
			return nil, errCut
		}
		t.conns[tapped] = true
		return tapped, nil
	}
}

type tappedConn struct {
	net.Conn
	tap *tap
	pod string

	mu   sync.Mutex
	last bool
	late bool
}

// Write implements net.Conn. The operator's client writes a command with one call, and one command at a time.
func (c *tappedConn) Write(p []byte) (int, error) {
	what := commandOf(p)
	if what == "" {
		return c.Conn.Write(p)
	}
	c.mu.Lock()
	c.late = true // until the verdict, which may close all connections but this
	c.mu.Unlock()
	verdict := c.tap.write(what + " @" + c.pod)
	if verdict == carryOutLate {
		data := bytes.Clone(p)
		go func() {
			<-c.tap.release
			defer close(c.tap.arrived)
			_, _ = c.Conn.Write(data)
			time.Sleep(100 * time.Millisecond) // closed too soon, the server may not read it
			_ = c.Conn.Close()
		}()
		return 0, errCut
	}
	c.mu.Lock()
	c.late = false
	c.mu.Unlock()
	switch verdict {
	case refuse:
		_ = c.Conn.Close()
		return 0, errCut
	case carryOutLast:
		c.mu.Lock()
		c.last = true
		c.mu.Unlock()
		n, err := c.Conn.Write(p)
		if err != nil {
			c.tap.landed()
		}
		return n, err
	case pass, carryOutLate:
	}
	return c.Conn.Write(p)
}

// endUnlessLate closes the connection, unless a late command is to use it yet.
func (c *tappedConn) endUnlessLate() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.late {
		return nil
	}
	return c.Conn.Close()
}

// Read implements net.Conn.
func (c *tappedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	last := c.last
	c.mu.Unlock()
	if last {
		c.tap.landed()
		return 0, errCut
	}
	return n, err
}

// Close implements net.Conn.
func (c *tappedConn) Close() error {
	c.tap.mu.Lock()
	delete(c.tap.conns, c)
	c.tap.mu.Unlock()
	return c.endUnlessLate()
}

// commandOf names the command that begins there, if it is one that changes a server; a password is not in the name.
func commandOf(p []byte) string {
	if len(p) == 0 || p[0] != '*' {
		return ""
	}
	var words []string
	for i, line := range strings.Split(string(p), "\r\n") {
		if i%2 == 0 && i > 0 {
			words = append(words, line)
		}
		if len(words) == 4 {
			break
		}
	}
	words = append(words, "", "", "")
	switch strings.ToUpper(words[0]) {
	case "HELLO", "AUTH", "CLIENT", "INFO", "ROLE", "PING":
		if strings.EqualFold(words[0], "CLIENT") && strings.EqualFold(words[1], "KILL") {
			return "CLIENT KILL"
		}
		return ""
	case "CONFIG", "ACL":
		if strings.EqualFold(words[1], "GET") {
			return ""
		}
		return fmt.Sprintf("%s %s %s", words[0], words[1], words[2])
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", words[0], words[1], words[2]))
}
