package redis

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forwardingServer stands for an API server that speaks SPDY only, and the kubelet behind it, which dials on the loopback address.
func forwardingServer(t *testing.T) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "/api/v1/namespaces/test/pods/redis-0/portforward", r.URL.Path)
		if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
			return
		}
		streams := make(chan httpstream.Stream, 2)
		session := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
			streams <- s
			return nil
		})
		if session == nil {
			return
		}
		defer func() { _ = session.Close() }()
		complaints, data := <-streams, <-streams
		dialAndCopy(complaints, data)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func dialAndCopy(complaints, data httpstream.Stream) {
	conn, err := net.Dial("tcp", "127.0.0.1:"+data.Headers().Get(corev1.PortHeader))
	if err != nil {
		_, _ = fmt.Fprintf(complaints, "error forwarding port: %v", err)
	} else {
		go func() {
			_, _ = io.Copy(conn, data)
			_ = conn.Close()
		}()
		_, _ = io.Copy(data, conn)
	}
	_ = complaints.Close()
	_ = data.Close()
}

// echo is a server that says everything twice, on a port of its own.
func echo(t *testing.T) int32 {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		word := make([]byte, 4)
		_, _ = io.ReadFull(conn, word)
		_, _ = io.WriteString(conn, strings.Repeat(string(word), 2))
		_ = conn.Close()
	}()
	return int32(listener.Addr().(*net.TCPAddr).Port)
}

func TestPortForwardCarriesBytesAndTheEnd(t *testing.T) {
	dial := PortForwardDialer(forwardingServer(t))
	conn, err := dial(t.Context(), Address{Namespace: "test", Pod: "redis-0", Port: echo(t)})
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("ping"))
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "pingping", string(all))
}

func TestPortForwardTellsARefusal(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := int32(listener.Addr().(*net.TCPAddr).Port)
	require.NoError(t, listener.Close())

	_, err = Connect(t.Context(), PortForwardDialer(forwardingServer(t)), Address{Namespace: "test", Pod: "redis-0", Port: port}, Credentials{})
	require.Error(t, err)
	assert.True(t, IsRefused(err), err)
}
