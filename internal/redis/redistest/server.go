//go:build integration

// Package redistest runs real redis-server processes for tests.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/redis-operator/internal/redis"
)

// OperatorUser and OperatorPassword log in at every server that Start starts.
const (
	OperatorUser     = "operator"
	OperatorPassword = "operator-secret"
)

// Fence are the settings of a server that boots as pods do: it copies from nobody and serves nobody.
var Fence = []string{"replicaof 127.0.0.1 1", "replica-serve-stale-data no"}

// Server is a redis-server process of a test's own, on a random port of the loopback address.
type Server struct {
	Port int32

	t       testing.TB
	command string
	config  string
	cmd     *exec.Cmd
	done    chan struct{}
}

// Start starts a server with these lines of redis.conf more; it ends with the test.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := New(t, settings...)
	s.Run()
	return s
}

// New has a port and is not running yet.
func New(t testing.TB, settings ...string) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	s := &Server{t: t, Port: int32(listener.Addr().(*net.TCPAddr).Port), command: command(t)}
	dir := t.TempDir()
	s.config = filepath.Join(dir, "redis.conf")
	lines := append([]string{
		fmt.Sprintf("port %d", s.Port),
		"bind 127.0.0.1",
		"dir " + dir,
		`save ""`,
		"repl-diskless-sync-delay 0",
		fmt.Sprintf("user %s on >%s ~* &* +@all", OperatorUser, OperatorPassword),
	}, settings...)
	require.NoError(t, os.WriteFile(s.config, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	t.Cleanup(s.Kill)
	return s
}

// command is what accepts the arguments of redis-server. Without one the test is skipped, or fails where REQUIRE_REDIS=1.
func command(t testing.TB) string {
	t.Helper()
	path := os.Getenv("REDIS_SERVER")
	if path == "" {
		_, here, _, _ := runtime.Caller(0)
		path = filepath.Join(filepath.Dir(here), "../../../dist/rootfs/redis-7.0/run-redis-server")
	}
	if found, err := exec.LookPath(path); err == nil {
		return found
	}
	if os.Getenv("REQUIRE_REDIS") == "1" {
		t.Fatalf("there is no redis-server at %s (environment REDIS_SERVER)", path)
	}
	t.Skipf("there is no redis-server at %s (environment REDIS_SERVER)", path)
	return ""
}

// Run starts the process and waits until it accepts connections.
func (s *Server) Run() {
	s.t.Helper()
	s.cmd = exec.Command(s.command, s.config)
	// The command may be a script: a process group reaches the server behind it too.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	require.NoError(s.t, s.cmd.Start())
	s.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	require.Eventually(s.t, func() bool {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.Port))))
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, 10*time.Second, 5*time.Millisecond, "redis-server does not listen")
}

// Address is where the server listens.
func (s *Server) Address() redis.Address {
	return redis.Address{Namespace: "test", Pod: "redis-" + strconv.Itoa(int(s.Port)), IP: "127.0.0.1", Port: s.Port}
}

// Signal sends a signal to the server.
func (s *Server) Signal(signal syscall.Signal) {
	if s.cmd != nil {
		_ = syscall.Kill(-s.cmd.Process.Pid, signal)
	}
}

// Kill ends the process without ceremony and waits for its end. It may be repeated.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	s.Signal(syscall.SIGKILL)
	<-s.done
	s.cmd = nil
}
