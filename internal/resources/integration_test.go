//go:build integration

package resources

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// These tests start real servers on the rendered files: REDIS_SERVER names one (its redis-cli is looked for beside it, or named
// by REDIS_CLI); without it, the one that `make redis-images` unpacks is used.

const operatorPassword = "operator's"

func TestFencedNode(t *testing.T) {
	r := start(t, minimal(), "")

	for _, command := range []string{"GET a", "KEYS *", "DBSIZE", "PING", "EXISTS a"} {
		r.expect(t, "MASTERDOWN", strings.Fields(command)...)
	}
	r.expect(t, "READONLY", "SET", "a", "b")
	if out, err := r.probe(); err == nil || !strings.Contains(out, "MASTERDOWN") {
		t.Errorf("the probe of a fenced node: %v %s", err, out)
	}
	// What the operator needs before it gives a role.
	for _, command := range []string{"INFO", "ROLE", "CONFIG GET maxmemory", "CLIENT LIST", "ACL LIST"} {
		if out := r.asOperator(strings.Fields(command)...); out == "" || refused(out) {
			t.Errorf("%s: %s", command, out)
		}
	}
}

func TestPromotedNode(t *testing.T) {
	r := start(t, minimal(), "")
	if out := r.asOperator("REPLICAOF", "NO", "ONE"); out != "OK" {
		t.Fatal(out)
	}
	r.expect(t, "OK", "SET", "a", "b")
	if out, err := r.probe(); err != nil || out != "PONG" {
		t.Errorf("the probe of a primary: %v %s", err, out)
	}
	// Freezing it again.
	if out := r.asOperator("REPLICAOF", state.FenceHost, strconv.Itoa(state.FencePort)); out != "OK" {
		t.Fatal(out)
	}
	r.expect(t, "MASTERDOWN", "GET", "a")
	if out, err := r.probe(); err == nil {
		t.Errorf("the probe of a frozen node: %s", out)
	}
}

func TestBootRole(t *testing.T) {
	// The downward API writes the annotation as it stands, without a line end.
	r := start(t, minimal(), cachev1.BootRolePrimary)
	r.expect(t, "OK", "SET", "a", "b")
	if out, err := r.probe(); err != nil || out != "PONG" {
		t.Errorf("the probe: %v %s", err, out)
	}
}

func TestUsers(t *testing.T) {
	w := minimal()
	w.Access.DefaultHash = PasswordHash("the user's")
	r := start(t, w, cachev1.BootRolePrimary)

	r.expect(t, "NOAUTH", "GET", "a")
	r.expectAs(t, "OK", userDefault, "the user's", "SET", "a", "b")
	r.expectAs(t, "AUTH failed: WRONGPASS", userDefault, "wrong", "GET", "a")
	if out, err := r.probe(); err != nil || out != "PONG" {
		t.Errorf("the probe beside a password: %v %s", err, out)
	}
	for _, command := range []string{"GET a", "INFO", "CONFIG GET *", "ACL LIST", "KEYS *", "PUBLISH a b"} {
		r.expectAs(t, "NOPERM", UserProbe, "any", strings.Fields(command)...)
	}
	for _, command := range []string{
		"GET a", "SET a c", "DEL a", "KEYS *", "FLUSHALL", "SYNC", "PSYNC ? -1", "MONITOR", "DEBUG JMAP", "EVAL return(1) 0", "PUBLISH a b",
		"MIGRATE h 1 a 0 1", "RESTORE a 0 x", "SCAN 0", "SUBSCRIBE a",
	} {
		out := r.as(userDefault, "the user's", slices.Concat([]string{"ACL", "DRYRUN", UserOperator}, strings.Fields(command))...)
		if !strings.Contains(out, "has no permissions to run") {
			t.Errorf("%s: %s", command, out)
		}
	}
	for _, command := range []string{
		"PING", "CONFIG SET min-replicas-to-write 0", "CONFIG SET masterauth x", "CLIENT KILL TYPE pubsub", "CLIENT PAUSE 1 WRITE",
		"CLIENT UNPAUSE", "CLIENT SETNAME me", "WAIT 0 1", "CLIENT NO-EVICT on", "DBSIZE", "HELLO 3", "ACL GETUSER replication",
	} {
		if out := r.asOperator(strings.Fields(command)...); refused(out) {
			t.Errorf("%s: %s", command, out)
		}
	}
	r.expectAs(t, "AUTH failed", UserReplication, "", "PING")
	r.expectAs(t, "AUTH failed", UserReplication, "any", "PING")
}

// The default user changes under an open connection and an open subscription, and both live on.
func TestDefaultUserChangesLive(t *testing.T) {
	r := start(t, minimal(), cachev1.BootRolePrimary)
	subscriber, client := r.dial(t), r.dial(t)
	ask(t, subscriber, "SUBSCRIBE channel")
	ask(t, client, "SET a b")

	access := state.Access{DefaultHash: PasswordHash("new")}
	if out := r.asOperator(slices.Concat([]string{"ACL", "SETUSER", "default"}, DefaultUserRules(access))...); out != "OK" {
		t.Fatal(out)
	}
	r.expect(t, "NOAUTH", "GET", "a")
	if out := ask(t, client, "PUBLISH channel hello"); !strings.HasPrefix(out, ":1") {
		t.Errorf("the open connection or the subscriber is gone: %q", out)
	}
	r.expectAs(t, "b", userDefault, "new", "GET", "a")

	// And as the file would have it at the next boot.
	list := func(c *server) string { return defaultLine(c.asOperator("ACL", "LIST")) }
	w := minimal()
	w.Access.DefaultHash = access.DefaultHash
	if live, booted := list(r), list(start(t, w, cachev1.BootRolePrimary)); live == "" || live != booted {
		t.Errorf("live %q, booted %q", live, booted)
	}
	if out := r.asOperator(slices.Concat([]string{"ACL", "SETUSER", "default"}, DefaultUserRules(state.Access{}))...); out != "OK" {
		t.Fatal(out)
	}
	r.expect(t, "b", "GET", "a")
}

func defaultLine(list string) string {
	for line := range strings.SplitSeq(list, "\n") {
		if strings.HasPrefix(line, "user default ") {
			return line
		}
	}
	return ""
}

func TestReplicationIsClosedUntilOpened(t *testing.T) {
	primary, replica := start(t, minimal(), cachev1.BootRolePrimary), start(t, minimal(), "")
	primary.expect(t, "OK", "SET", "a", "b")
	password := Derive([]byte("seed"), UserReplication, 1)

	replica.follow(t, primary, password)
	time.Sleep(1500 * time.Millisecond) // a replica tries once a second
	if out := replica.asOperator("INFO", "replication"); !strings.Contains(out, "master_link_status:down") {
		t.Fatalf("it copies before the primary is open:\n%s", out)
	}
	rules := slices.Concat([]string{"ACL", "SETUSER", UserReplication}, ReplicationRules(PasswordHash(password)))
	if out := primary.asOperator(rules...); out != "OK" {
		t.Fatal(out)
	}
	replica.eventually(t, "b", "GET", "a")
	if out, err := replica.probe(); err != nil || out != "PONG" {
		t.Errorf("the probe of a replica in sync: %v %s", err, out)
	}
	// Exactly one password, and nothing but copying.
	primary.expectAs(t, "AUTH failed", UserReplication, Derive([]byte("seed"), UserReplication, 2), "PING")
	primary.expectAs(t, "NOPERM", UserReplication, password, "GET", "a")
	// The copy leaves no file behind that a restart could load.
	if left, err := filepath.Glob(filepath.Join(replica.dir, "data", "*.rdb")); err != nil || len(left) > 0 {
		t.Errorf("files left: %v %v", left, err)
	}
}

func TestUsersSettingsAreInForce(t *testing.T) {
	w := everything()
	w.Spec.Config = map[string]cachev1.ConfigValue{
		"save": "60 1000 300 10", "appendonly": "no", "maxmemory": "12mb", "notify-keyspace-events": "",
		"client-output-buffer-limit": "pubsub 16mb 8mb 60", "proc-title-template": "it's {title}",
	}
	r := start(t, w, "")
	for key, want := range map[string]string{
		"save":                       "60 1000 300 10",
		"maxmemory":                  strconv.Itoa(12 << 20),
		"notify-keyspace-events":     "",
		"client-output-buffer-limit": "normal 0 0 0 slave 536870912 0 0 pubsub 16777216 8388608 60",
		"proc-title-template":        "it's {title}",
		"repl-diskless-load":         "on-empty-db",
		"repl-diskless-sync-delay":   "0",
		"rdb-del-sync-files":         "yes",
		"shutdown-timeout":           "10",
		"masteruser":                 UserReplication,
		"repl-backlog-size":          strconv.Itoa(256 << 20),
	} {
		if out := r.asOperator("CONFIG", "GET", key); strings.TrimSuffix(out, "\n") != strings.TrimSuffix(key+"\n"+want, "\n") {
			t.Errorf("%s is %q, want %q", key, out, want)
		}
	}
}

func TestNothingIsSavedByDefault(t *testing.T) {
	r := start(t, minimal(), cachev1.BootRolePrimary)
	if out := r.asOperator("CONFIG", "GET", "save"); out != "save" {
		t.Errorf("save is %q", out)
	}
}

// server is a running server on the files of a pod.
type server struct {
	dir  string
	port int
	want *state.Want
}

func start(t *testing.T, w *state.Want, bootRole string) *server {
	t.Helper()
	r := &server{dir: t.TempDir(), port: freePort(t), want: w}
	w.Spec.Port = int32(r.port)
	conf := strings.NewReplacer(configDir, r.dir, "dir "+dataDir+"\n", "dir "+r.dir+"/data\n").Replace(configMap(w).Data[configKey])
	for name, text := range map[string]string{configKey: conf, SecretKeyUsers: string(secret(w).Data[SecretKeyUsers]), bootRoleKey: bootRole} {
		if err := os.WriteFile(filepath.Join(r.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(r.dir, "data"), 0o700); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := exec.Command(program(t, "REDIS_SERVER", "../../dist/rootfs/redis-7.0/run-redis-server"), filepath.Join(r.dir, configKey))
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("log of %d:\n%s", r.port, log.String())
		}
	})
	r.waitForAnswer(t)
	return r
}

func (r *server) waitForAnswer(t *testing.T) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", r.address())
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no answer: %v", err)
		}
	}
}

func program(t *testing.T, variable, fallback string) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		path = fallback
	}
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("set %s to a server, or run make redis-images: %v", variable, err)
	}
	return path
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (r *server) address() string { return fmt.Sprintf("127.0.0.1:%d", r.port) }

func cli(args ...string) (string, error) {
	path := os.Getenv("REDIS_CLI")
	if path == "" {
		server := os.Getenv("REDIS_SERVER")
		if server == "" {
			server = "../../dist/rootfs/redis-7.0/run-redis-server"
		}
		path = strings.TrimSuffix(server, "-server") + "-cli"
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r *server) as(user, password string, command ...string) string {
	out, _ := cli(slices.Concat([]string{"-p", strconv.Itoa(r.port), "--user", user, "--pass", password, "--no-auth-warning"}, command)...)
	return out
}

func (r *server) asOperator(command ...string) string {
	return r.as(UserOperator, operatorPassword, command...)
}

// probe runs what the kubelet runs.
func (r *server) probe() (string, error) {
	return cli(readinessProbe(int32(r.port)).Exec.Command[1:]...)
}

func (r *server) expect(t *testing.T, want string, command ...string) {
	t.Helper()
	if out, _ := cli(slices.Concat([]string{"-p", strconv.Itoa(r.port)}, command)...); !strings.HasPrefix(out, want) {
		t.Errorf("%v: got %q, want %q", command, out, want)
	}
}

func (r *server) expectAs(t *testing.T, want, user, password string, command ...string) {
	t.Helper()
	if out := r.as(user, password, command...); !strings.HasPrefix(out, want) {
		t.Errorf("%s: %v: got %q, want %q", user, command, out, want)
	}
}

// refused tells whether an answer is an error.
func refused(answer string) bool {
	code, _, _ := strings.Cut(answer, " ")
	return slices.Contains([]string{"ERR", "NOPERM", "NOAUTH", "MASTERDOWN", "AUTH"}, code)
}

func (r *server) eventually(t *testing.T, want string, command ...string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if out, _ := cli(slices.Concat([]string{"-p", strconv.Itoa(r.port)}, command)...); out == want {
			return
		}
	}
	t.Errorf("%v never answered %q", command, want)
}

func (r *server) follow(t *testing.T, primary *server, password string) {
	t.Helper()
	for _, command := range [][]string{{"CONFIG", "SET", "masterauth", password}, {"REPLICAOF", "127.0.0.1", strconv.Itoa(primary.port)}} {
		if out := r.asOperator(command...); out != "OK" {
			t.Fatalf("%s: %s", command[0], out)
		}
	}
}

// dial opens a plain connection.
func (r *server) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", r.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func ask(t *testing.T, c net.Conn, line string) string {
	t.Helper()
	if _, err := c.Write([]byte(line + "\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
	answer := make([]byte, 4096)
	n, err := c.Read(answer)
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return string(answer[:n])
}
