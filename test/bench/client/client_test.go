package main

import (
	"bufio"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/redis-operator/test/bench/measure"
)

// fakeRedis keeps keys, and answers each command by the function that the test gives, if that returns something.
type fakeRedis struct {
	net.Listener
	instead func(command []string) string

	mu   sync.Mutex
	keys map[string]string
}

func newFakeRedis(t *testing.T, instead func(command []string) string) *fakeRedis {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	f := &fakeRedis{Listener: listener, instead: instead, keys: map[string]string{}}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.answerAll(conn)
		}
	}()
	return f
}

// answerAll reads commands by the clients' own reader: on the wire they are lists like any reply.
func (f *fakeRedis) answerAll(conn net.Conn) {
	defer conn.Close()
	in := &connection{conn, bufio.NewReader(conn)}
	for {
		list, err := in.receive()
		if err != nil {
			return
		}
		var command []string
		for _, word := range list.([]any) {
			command = append(command, word.(string))
		}
		reply := f.instead(command)
		if reply == "hang up" {
			return
		}
		if reply == "" {
			reply = f.answer(command)
		}
		_, _ = io.WriteString(conn, reply)
	}
}

func (f *fakeRedis) answer(command []string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch command[0] {
	case "SET":
		f.keys[command[1]] = command[2]
		return "+OK\r\n"
	case "GET":
		return "$-1\r\n"
	case "WAIT":
		return ":1\r\n"
	case "ROLE":
		return "*3\r\n$6\r\nmaster\r\n:1\r\n*0\r\n"
	case "MGET":
		var out strings.Builder
		out.WriteString("*" + itoa(len(command)-1) + "\r\n")
		for _, key := range command[1:] {
			if value, there := f.keys[key]; there {
				out.WriteString("$" + itoa(len(value)) + "\r\n" + value + "\r\n")
			} else {
				out.WriteString("$-1\r\n")
			}
		}
		return out.String()
	default:
		return ":0\r\n"
	}
}

func itoa(n int) string { return strings.TrimPrefix(keyOf("", n), ":") }

func TestWriterReportsWhatItSaw(t *testing.T) {
	var mu sync.Mutex
	broken := map[string]string{
		"r:a0:7":  "-NOREPLICAS Not enough good replicas to write.\r\n",
		"r:a0:9":  "hang up",
		"r:w1:11": "-READONLY You can't write against a read only replica.\r\n",
	}
	server := newFakeRedis(t, func(command []string) string {
		mu.Lock()
		defer mu.Unlock()
		if command[0] != "SET" {
			return ""
		}
		return broken[command[1]]
	})
	address := server.Addr().String()
	w := newWriter(options{name: "r", to: address, plain: 1, waiting: 1, pace: time.Millisecond})
	require.NoError(t, w.awaitMore(t.Context(), moreRequest{Count: 50, Within: 10 * time.Second}))
	clients := w.end()
	require.Equal(t, []bool{false, true}, []bool{clients[0].Waits, clients[1].Waits})
	require.Equal(t, []int{1, 1, 2}, []int{clients[0].Writes[5].Link, clients[0].Writes[7].Link, clients[0].Writes[9].Link})

	server.mu.Lock()
	delete(server.keys, "r:a0:20")
	delete(server.keys, "r:w1:21")
	server.keys["r:w1:22"] = "another"
	server.mu.Unlock()
	fault := []time.Time{clients[0].Writes[19].Acked.Add(time.Millisecond / 2)}
	report, err := reportOf(clients, finishRequest{Faults: fault, Moments: fault, Primary: address, Absent: []string{"stale"}})
	require.NoError(t, err)
	require.Equal(t, map[measure.Kind]int{measure.NoReplicas: 1, measure.Closed: 1, measure.ReadOnly: 1}, report.Errors)
	require.Equal(t, 2, report.Lost.Confirmed)
	require.Equal(t, 1, report.Lost.Plain())
	require.Equal(t, 3, report.Lost.Holes)
	require.Empty(t, report.Found)
}

func TestWithoutAServerTheWriterGoesOnTrying(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	w := newWriter(options{name: "r", to: address, plain: 1, pace: time.Millisecond})
	err = w.awaitMore(t.Context(), moreRequest{Count: 1, Within: 200 * time.Millisecond})
	require.ErrorContains(t, err, "refused")
	clients := w.end()
	require.Greater(t, clients[0].Errors[measure.Refused], 10)
	require.Empty(t, clients[0].Writes)
}

func TestFirstProcessIsKnownByItsNumbers(t *testing.T) {
	require.True(t, isFirst("Name:\tredis-server\nNSpid:\t4711\t12\t1\nThreads:\t5\n"))
	require.False(t, isFirst("Name:\tredis-cli\nNSpid:\t4711\t21\n"))
	require.False(t, isFirst("Name:\tinit\nNSpid:\t1\n"))
	require.False(t, isFirst(""))
}
