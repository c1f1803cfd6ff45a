package redis

import (
	"bufio"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGuard(t *testing.T) {
	for name, tc := range map[string]struct {
		reply string
		want  string
	}{
		"a status":                        {reply: "+OK\r\n"},
		"an error":                        {reply: "-LOADING Redis is loading the dataset in memory\r\n"},
		"a string":                        {reply: "$5\r\n*9999\r\n"},
		"null":                            {reply: "*4\r\n$-1\r\n*-1\r\n_\r\n*0\r\n"},
		"a map":                           {reply: "%1\r\n$6\r\nserver\r\n=9\r\ntxt:redis\r\n"},
		"a string longer than any reply":  {reply: "$1048577\r\n", want: "unacceptable length"},
		"a length that is no number":      {reply: "$12z\r\n", want: "unacceptable length"},
		"a negative length":               {reply: "$-7\r\n", want: "unacceptable length"},
		"a length that overflows":         {reply: "$99999999999999999999999999999999999999999999\r\n", want: "unacceptable length"},
		"an array of too many elements":   {reply: "*1000000\r\n", want: "unacceptable length"},
		"arrays in arrays without end":    {reply: strings.Repeat("*1\r\n", maxDepth+1), want: "nested too deep"},
		"a string of unknown length":      {reply: "$?\r\n", want: "unacceptable length"},
		"a second reply":                  {reply: "+OK\r\n+OK\r\n", want: "more than was asked"},
		"more after a map":                {reply: "%1\r\n+a\r\n:1\r\n:2\r\n", want: "more than was asked"},
		"a push":                          {reply: ">1\r\n+a\r\n", want: "unexpected"},
		"an empty line":                   {reply: "\r\n", want: "empty line"},
		"more than may come in one reply": {reply: "+" + strings.Repeat("x", maxReply), want: "more than was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			whole := guard{awaited: 1}
			err := whole.inspect([]byte(tc.reply))
			bytewise := guard{awaited: 1}
			var byteErr error
			for i := 0; i < len(tc.reply) && byteErr == nil; i++ {
				byteErr = bytewise.inspect([]byte{tc.reply[i]})
			}
			if tc.want == "" {
				require.NoError(t, err)
				require.NoError(t, byteErr)
				return
			}
			require.ErrorContains(t, err, tc.want)
			require.ErrorContains(t, byteErr, tc.want)
		})
	}
}

func TestGuardCountsReplies(t *testing.T) {
	g := guard{awaited: 2}
	require.NoError(t, g.inspect([]byte("*1\r\n+a\r\n$2\r\n")))
	require.NoError(t, g.inspect([]byte("ok\r\n")))
	require.ErrorIs(t, g.inspect([]byte("+OK\r\n")), errUnasked)

	both := guard{awaited: 2}
	half := "$" + strconv.Itoa(maxReply-100) + "\r\n" + strings.Repeat("x", maxReply-100) + "\r\n"
	require.NoError(t, both.inspect([]byte(half)))
	require.ErrorIs(t, both.inspect([]byte(half)), errUnasked, "the limit is for all replies together")
}

// hostile answers each command with the next of these, whatever it was.
func hostile(t *testing.T, replies ...string) Dialer {
	t.Helper()
	return func(context.Context, Address) (net.Conn, error) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _ = theirs.Close() })
		go func() {
			commands := bufio.NewReader(theirs)
			for _, reply := range replies {
				if _, err := commands.Peek(1); err != nil {
					return
				}
				_, _ = commands.Discard(commands.Buffered())
				_, _ = theirs.Write([]byte(reply))
			}
		}()
		return ours, nil
	}
}

const welcome = "%3\r\n+server\r\n+redis\r\n+version\r\n+7.0.15\r\n+proto\r\n:3\r\n"

func TestHostileServerHarmsNobody(t *testing.T) {
	for name, reply := range map[string]string{
		"an immense string":        "$900000000000\r\n",
		"a negative array":         "*-5\r\n",
		"a pushed message":         ">3\r\n+message\r\n+a\r\n+b\r\n",
		"an unknown type":          "?what\r\n",
		"three replies":            "+OK\r\n+OK\r\n+OK\r\n",
		"an array":                 "*2\r\n+a\r\n+b\r\n",
		"not the INFO of a server": "$5\r\nhello\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			n, err := Connect(t.Context(), hostile(t, welcome, reply), Address{}, Credentials{})
			require.NoError(t, err)
			defer n.Close()
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			_, err = n.Info(ctx)
			assert.Error(t, err)
		})
		t.Run(name+" in the handshake", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			n, err := Connect(ctx, hostile(t, reply), Address{}, Credentials{})
			if err == nil {
				n.Close()
			}
		})
	}
}

func TestUnaskedWordsEndTheConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	l := newLink(ours)
	_, err := theirs.Write([]byte("+OK\r\n"))
	require.NoError(t, err)
	<-l.broken
	assert.ErrorContains(t, l.reason(nil), "more than was asked for")
}

// lingering is a connection that takes its time to close, and takes what is written meanwhile.
type lingering struct {
	net.Conn
	closed chan struct{}
}

func (c lingering) Write(p []byte) (int, error) { return len(p), nil }
func (c lingering) Close() error {
	<-c.closed
	return c.Conn.Close()
}

func TestNothingIsWrittenOnceTheEndIsKnown(t *testing.T) {
	ours, theirs := net.Pipe()
	defer func() { _ = theirs.Close() }()
	conn := lingering{Conn: ours, closed: make(chan struct{})}
	defer close(conn.closed)
	l := newLink(conn)
	_, err := l.Write([]byte("PING"))
	require.NoError(t, err)
	go l.end(errUnasked)
	<-l.broken
	_, err = l.Write([]byte("PING"))
	require.ErrorIs(t, err, errUnasked)
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

func TestErrorKinds(t *testing.T) {
	denied := &ReplyError{message: "NOPERM this user has no permissions to run the 'info' command"}
	busy := &ReplyError{message: "BUSY Redis is busy running a script"}
	assert.True(t, IsDenied(denied))
	assert.True(t, IsReply(busy))
	assert.False(t, IsDenied(busy))
	assert.True(t, IsRefused(complaintError("error forwarding port 6379 to pod x: dial tcp4 127.0.0.1:6379: connect: connection refused", nil)))
	assert.False(t, IsRefused(complaintError("pod not found", nil)))
	assert.NoError(t, complaintError("", nil))
	assert.Equal(t, "with *** in it", redact("with secret in it", []string{"", "secret"}))
}

func TestAutomaticDialer(t *testing.T) {
	now := time.Unix(0, 0)
	var log []string
	directErr, forwardErr := error(nil), error(nil)
	dialer := func(name string, err *error) Dialer {
		return func(context.Context, Address) (net.Conn, error) {
			log = append(log, name)
			if *err != nil {
				return nil, *err
			}
			conn, _ := net.Pipe()
			return conn, nil
		}
	}
	a := &automatic{direct: dialer("direct", &directErr), forward: dialer("forward", &forwardErr), now: func() time.Time { return now }}
	dial := func() error { _, err := a.dial(t.Context(), Address{}); return err }

	directErr = errRefused
	require.ErrorIs(t, dial(), errRefused, "a refusal is an answer")
	directErr = errors.New("no route to host")
	require.NoError(t, dial())
	require.NoError(t, dial(), "the way is remembered")
	now = now.Add(wayKept + time.Second)
	directErr = nil
	require.NoError(t, dial(), "and tried again later")
	directErr = errors.New("no route to host")
	require.Error(t, dial(), "an unreachable node does not change a way that works")
	assert.Equal(t, []string{"direct", "direct", "forward", "forward", "direct", "direct"}, log)
}
