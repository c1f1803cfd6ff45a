package redis

import (
	"bufio"
	"context"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostile answers each question with the next of these, whatever it was, and then hears no more.
func hostile(t *testing.T, answers ...string) Dialer {
	t.Helper()
	return serving(t, func(conn net.Conn) {
		questions := bufio.NewReader(conn)
		for _, answer := range answers {
			if _, err := questions.Peek(1); err != nil {
				return
			}
			_, _ = questions.Discard(questions.Buffered())
			_, _ = io.WriteString(conn, answer)
		}
	})
}

// leaving is like hostile, and closes the connection in the end.
func leaving(t *testing.T, answers ...string) Dialer {
	t.Helper()
	return serving(t, func(conn net.Conn) {
		question := make([]byte, 4<<10)
		for _, answer := range answers {
			_, _ = conn.Read(question)
			_, _ = io.WriteString(conn, answer)
		}
		_ = conn.Close()
	})
}

// serving hands the other end of each connection to that server.
func serving(t *testing.T, serve func(conn net.Conn)) Dialer {
	t.Helper()
	return func(context.Context, Address) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go serve(theirs)
		return ours, nil
	}
}

const welcome = "+OK\r\n"

var login = Credentials{Username: "operator", Password: "secret"}

func connected(t *testing.T, dial Dialer) *Node {
	t.Helper()
	n, err := Connect(t.Context(), dial, Address{}, Credentials{})
	require.NoError(t, err)
	t.Cleanup(n.Close)
	return n
}

func TestHostileServerHarmsNobody(t *testing.T) {
	for name, answer := range map[string]string{
		"an immense string":        "$900000000000\r\n",
		"a negative array":         "*-5\r\n",
		"a pushed message":         ">3\r\n+message\r\n+a\r\n+b\r\n",
		"an unknown type":          "?what\r\n",
		"three replies":            "+OK\r\n+OK\r\n+OK\r\n",
		"an array":                 "*2\r\n+a\r\n+b\r\n",
		"half a reply":             "+OK\r\n$10\r\nrun",
		"not the INFO of a server": "+OK\r\n$5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			n := connected(t, hostile(t, welcome, answer))
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := n.Info(ctx)
			assert.Error(t, err)
		})
		t.Run(name+" at login", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err := Connect(ctx, hostile(t, answer), Address{}, login)
			if !strings.HasPrefix(answer, "+OK\r\n$5") {
				assert.Error(t, err)
			}
		})
	}
}

func TestUnaskedWordsEndTheConnection(t *testing.T) {
	unasked := make(chan string)
	n := connected(t, serving(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(conn, welcome)
		_, _ = io.WriteString(conn, <-unasked)
	}))
	select {
	case <-n.Broken():
		t.Fatal("nothing was said yet")
	case <-time.After(20 * time.Millisecond):
	}
	unasked <- "+OK\r\n"
	<-n.Broken()
	assert.ErrorIs(t, n.Freeze(t.Context()), errUnasked)

	n = connected(t, hostile(t, welcome, "+OK\r\n+OK\r\n"))
	assert.ErrorIs(t, n.Freeze(t.Context()), errUnasked, "together with the answer")
	<-n.Broken()
}

func TestEndOfThePeerIsNoticed(t *testing.T) {
	n := connected(t, leaving(t, welcome))
	<-n.Broken()
	require.ErrorIs(t, n.Freeze(t.Context()), io.EOF)

	n = connected(t, leaving(t, welcome, ""))
	require.ErrorIs(t, n.Freeze(t.Context()), io.EOF, "during a question")
	<-n.Broken()
}

func TestCloseEndsTheQuestionUnderWay(t *testing.T) {
	n := connected(t, hostile(t, welcome))
	time.AfterFunc(10*time.Millisecond, n.Close)
	require.ErrorIs(t, n.Freeze(t.Context()), errGone)
	n.Close()
}

// lingering is a connection that takes its time to close, and takes what is written meanwhile.
type lingering struct {
	net.Conn
	written *strings.Builder
	closed  chan struct{}
}

func (c lingering) Write(p []byte) (int, error) { return c.written.Write(p) }
func (c lingering) Close() error {
	<-c.closed
	return c.Conn.Close()
}

func TestNothingIsWrittenOnceTheEndIsKnown(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	conn := lingering{Conn: ours, written: &strings.Builder{}, closed: make(chan struct{})}
	defer close(conn.closed)
	l := newLink(conn)
	go l.end(errUnasked)
	<-l.broken
	_, err := l.ask(t.Context(), []byte("PING"), 1)
	require.ErrorIs(t, err, errUnasked)
	assert.Empty(t, conn.written.String())
}

func TestCommandThatIsGivenUpEndsTheConnection(t *testing.T) {
	n, err := Connect(t.Context(), hostile(t, welcome), Address{}, Credentials{})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, n.Freeze(ctx), context.Canceled)
	select {
	case <-n.Broken():
		t.Fatal("nothing was sent yet")
	default:
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, n.Freeze(ctx), context.DeadlineExceeded)
	<-n.Broken()
	require.Error(t, n.Freeze(t.Context()))
	n.Close()
}

func TestLogin(t *testing.T) {
	const denied, other, in = "denied", "other", "in"
	for name, tc := range map[string]struct {
		dial        Dialer
		credentials Credentials
		want        string
	}{
		"both are taken":              {hostile(t, "+OK\r\n+OK\r\n"), login, in},
		"the name alone":              {hostile(t, "+OK\r\n"), Credentials{}, in},
		"wrong password":              {hostile(t, "-WRONGPASS invalid\r\n-NOAUTH required\r\n"), login, denied},
		"a password is needed":        {hostile(t, "-NOAUTH Authentication required.\r\n"), Credentials{}, denied},
		"no time for a name":          {hostile(t, "+OK\r\n-BUSY Redis is busy running a script.\r\n"), login, in},
		"no name while loading":       {hostile(t, "-LOADING Redis is loading the dataset in memory\r\n"), Credentials{}, in},
		"no permission for a name":    {hostile(t, "+OK\r\n-NOPERM User operator has no permissions\r\n"), login, in},
		"no login before Redis 6":     {hostile(t, "-ERR wrong number of arguments for 'auth' command\r\n-NOAUTH required\r\n"), login, other},
		"protected mode":              {leaving(t, "-DENIED Redis is running in protected mode\r\n"), login, denied},
		"protected mode, no login":    {leaving(t, "-DENIED Redis is running in protected mode\r\n"), Credentials{}, denied},
		"too many clients":            {leaving(t, "-ERR max number of clients reached\r\n"), login, other},
		"the login, and then nothing": {leaving(t, "+OK\r\n"), login, "no reply"},
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Connect(t.Context(), tc.dial, Address{}, tc.credentials)
			if err == nil {
				n.Close()
			}
			got := in
			switch {
			case IsDenied(err):
				got = denied
			case IsReply(err):
				got = other
			case err != nil:
				got = "no reply"
			}
			assert.Equal(t, tc.want, got, err)
		})
	}
}

func TestLoginIsOneRoundTrip(t *testing.T) {
	const setName = "*3\r\n$6\r\nCLIENT\r\n$7\r\nSETNAME\r\n$14\r\nredis-operator\r\n"
	for want, credentials := range map[string]Credentials{
		setName: {},
		"*3\r\n$4\r\nAUTH\r\n$8\r\noperator\r\n$6\r\nsecret\r\n" + setName: login,
		"*3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$6\r\nsecret\r\n" + setName:  {Password: "secret"},
	} {
		said := make(chan string, 1)
		_, err := Connect(t.Context(), serving(t, func(conn net.Conn) {
			words := make([]byte, 4<<10)
			count, _ := conn.Read(words)
			said <- string(words[:count])
			_ = conn.Close()
		}), Address{}, credentials)
		require.ErrorIs(t, err, io.EOF)
		assert.Equal(t, want, <-said)
	}
}

// A server may turn a client away on accepting it, without waiting for a word.
func TestBeingTurnedAwayBeforeTheFirstWord(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "-DENIED Redis is running in protected mode\r\n")
			_ = conn.Close()
		}
	}()
	slow := func(context.Context, Address) (net.Conn, error) {
		conn, err := net.Dial("tcp", listener.Addr().String())
		time.Sleep(20 * time.Millisecond)
		return conn, err
	}
	for _, credentials := range []Credentials{{}, login} {
		_, err = Connect(t.Context(), slow, Address{}, credentials)
		assert.True(t, IsDenied(err), err)
	}
}

func TestNothingIsLeftOfRefusedLogins(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 100 {
		_, err := Connect(t.Context(), hostile(t, "-WRONGPASS invalid\r\n-NOAUTH required\r\n"), Address{}, login)
		require.True(t, IsDenied(err), err)
	}
	n := connected(t, leaving(t, welcome))
	<-n.Broken()
	connected(t, hostile(t, welcome)).Close()
	assert.Eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, // and the one that asks
		2*time.Second, 10*time.Millisecond, "goroutines are left")
}

func TestAnswerInPieces(t *testing.T) {
	info := "run_id:r1\r\nrole:master\r\nfiller:" + strings.Repeat("x", 3*readBuffer) + "\r\n"
	answer := "*4\r\n+min-replicas-to-write\r\n+2\r\n+min-replicas-max-lag\r\n+10\r\n$" + strconv.Itoa(len(info)) + "\r\n" + info + "\r\n"
	n := connected(t, serving(t, func(conn net.Conn) {
		for _, words := range []string{welcome, answer} {
			_, _ = conn.Read(make([]byte, 4<<10))
			for i := range len(words) {
				_, _ = io.WriteString(conn, words[i:i+1])
			}
		}
	}))
	r, err := n.Info(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "r1", r.RunID)
	assert.EqualValues(t, 2, r.MinReplicas)
}

func TestRefusalInTheMiddleOfAPipeline(t *testing.T) {
	n := connected(t, hostile(t, welcome, "+OK\r\n-ERR no\r\n:3\r\n", "+OK\r\n-ERR secret\r\n", "+OK\r\n"))
	answer, err := n.pipeline(t.Context(), "THREE", nil, []string{"A"}, []string{"B"}, []string{"C"})
	require.NoError(t, err)
	assert.Equal(t, []reply{{kind: kindStatus, text: "OK"}, {kind: kindError, text: "ERR no"}, {kind: kindInteger, text: "3"}}, answer)

	_, err = n.pipeline(t.Context(), "TWO", []string{"secret"}, []string{"A"}, []string{"B"})
	assert.True(t, IsReply(err), err)
	assert.NotContains(t, err.Error(), "secret")
	require.NoError(t, n.Freeze(t.Context()), "the connection stands")
}

func TestErrorsDoNotQuoteTheServer(t *testing.T) {
	for _, answer := range []string{"-ERR what is operator secret", "$secret", "*secret", ":secret", "+OK\r\n>secret", "secret"} {
		_, err := Connect(t.Context(), leaving(t, answer+"\r\n"), Address{}, login)
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
	}
}

func TestEachQuestionGetsItsAnswer(t *testing.T) {
	n := connected(t, serving(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4<<10))
		_, _ = io.WriteString(conn, welcome)
		for questions := bufio.NewReader(conn); ; {
			for range 2 { // the header and the length
				if _, err := questions.ReadString('\n'); err != nil {
					return
				}
			}
			word, _ := questions.ReadString('\n')
			_, _ = io.WriteString(conn, "+"+word)
		}
	}))
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			answer, err := n.do(t.Context(), "ECHO", nil, strconv.Itoa(i))
			assert.NoError(t, err)
			assert.Equal(t, strconv.Itoa(i), answer.text)
		})
	}
	all.Wait()
}
