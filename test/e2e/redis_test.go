//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

// clients is the pod in which all tests' clients run: inside the cluster, where Services' names and addresses mean something.
var clients struct {
	sync.Mutex
	pod client.ObjectKey
}

// login is whom a client logs in as. The password goes by the standard input, so that it is in no list of arguments.
const login = `IFS= read -r password; if [ -n "$password" ]; then export REDISCLI_AUTH="$password"; fi; `

// awaitClient makes the pod in which clients run, once for all tests: another pod for each would be a quarter of all that start.
func (p *place) awaitClient() client.ObjectKey {
	p.t.Helper()
	clients.Lock()
	defer clients.Unlock()
	if clients.pod.Name == "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-clients-", Labels: map[string]string{testLabel: "clients"}}}
		p.create(namespace)
		clients.pod = p.makeClient(namespace.Name)
	}
	return clients.pod
}

// makeClient makes such a pod in a namespace.
func (p *place) makeClient(namespace string) client.ObjectKey {
	p.t.Helper()
	key := client.ObjectKey{Namespace: namespace, Name: "client"}
	pod := &corev1.Pod{
		ObjectMeta: at(key.Namespace, key.Name),
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "client", Image: image, Command: []string{"sh", "-c", "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"},
				SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
			}},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(999)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			TerminationGracePeriodSeconds: new(int64(0)),
		},
	}
	await(p.t, "the clients' pod can be made", settling, func(ctx context.Context) error {
		return kube.Create(ctx, pod) // a new namespace has its service account a moment later
	})
	await(p.t, "the clients' pod is ready", settling, func(ctx context.Context) error {
		err := kube.Get(ctx, key, pod)
		if err == nil && !podReady(pod) {
			err = fmt.Errorf("it is %s", pod.Status.Phase)
		}
		return err
	})
	return key
}

// server is a Redis as a client reaches it: from which pod, by which name and port, with which password.
type server struct {
	from     client.ObjectKey
	host     string
	port     int32
	password string
	// user is whom to log in as, if not the default user.
	user string
}

// service is a Service of a resource, as a client in the cluster sees it.
func (p *place) service(name, password string) server {
	p.t.Helper()
	return server{from: p.awaitClient(), host: name + "." + p.name + ".svc", port: 6379, password: password}
}

// node is one pod's own Redis, asked from inside the pod.
func (p *place) node(pod, password string) server {
	return server{from: p.key(pod), host: loopback, port: 6379, password: password}
}

func (s server) onPort(port int32) server {
	s.port = port
	return s
}

// as logs in as another user than the default one.
func (s server) as(user, password string) server {
	s.user, s.password = user, password
	return s
}

// ask sends one command and returns the reply; an error reply is an error. A Service is given the time that kube-proxy takes to
// follow a change of where it leads.
func (s server) ask(ctx context.Context, command ...string) (string, error) {
	for began := time.Now(); ; {
		out, err := s.askOnce(ctx, command...)
		again := errors.Is(err, errLost) || unconnected(err) && s.host != loopback
		if !again || time.Since(began) > followed || ctx.Err() != nil {
			return out, err
		}
	}
}

const (
	loopback = "127.0.0.1"
	// followed is by when kube-proxy has followed a change for certain: it waits a second between two rounds.
	followed = 15 * time.Second
	// attempt is the time of one: a connection that was begun to a pod that is gone hangs, and only a new one is led elsewhere.
	attempt = 5 * time.Second
)

// unconnected tells whether no server was reached, as against one that answered with an error.
func unconnected(err error) bool {
	return err != nil && (errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "Could not connect"))
}

func (s server) askOnce(ctx context.Context, command ...string) (string, error) {
	script := login + `redis-cli -e --no-auth-warning "$@"; code=$?; printf '\nended %s\n' $code; exit $code`
	arguments := []string{"sh", "-c", script, "ask", "-h", s.host, "-p", strconv.Itoa(int(s.port))}
	if s.user != "" {
		arguments = append(arguments, "--user", s.user)
	}
	arguments = append(arguments, command...)
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	out, err := kube.exec(ctx, s.from, strings.NewReader(s.password+"\n"), arguments...)
	reply, _, complete := strings.Cut(out, "\nended ")
	if err == nil && !complete {
		err = errLost
	}
	reply = strings.TrimSpace(reply)
	if err != nil {
		return reply, fmt.Errorf("%s on %s:%d: %w", strings.Join(command, " "), s.host, s.port, err)
	}
	return reply, nil
}

// errLost is of an exec that ended without an error and without all of its output, as happens on a busy node.
var errLost = errors.New("the output of the command was lost")

// askAll sends many commands over one connection and returns a line for each reply of one line.
func (s server) askAll(ctx context.Context, commands []string) ([]string, error) {
	script := login + `exec redis-cli --no-auth-warning -h "$1" -p "$2"`
	input := io.MultiReader(strings.NewReader(s.password+"\n"), strings.NewReader(strings.Join(commands, "\n")+"\n"))
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	out, err := kube.exec(ctx, s.from, input, "sh", "-c", script, "ask", s.host, strconv.Itoa(int(s.port)))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != len(commands) {
		return nil, fmt.Errorf("%d replies to %d commands on %s: %.200s", len(lines), len(commands), s.host, out)
	}
	return lines, nil
}

// answers fails the test unless the reply is as expected.
func (p *place) answers(s server, want string, command ...string) {
	p.t.Helper()
	got, err := s.ask(p.t.Context(), command...)
	require.NoError(p.t, err)
	require.Equal(p.t, want, got, "%v on %s", command, s.host)
}

// awaitAnswer waits for a reply.
func (p *place) awaitAnswer(s server, want string, command ...string) {
	p.t.Helper()
	await(p.t, fmt.Sprintf("%s answers %v with %s", s.host, command, want), settling, func(ctx context.Context) error {
		got, err := s.ask(ctx, command...)
		if err == nil && got != want {
			err = fmt.Errorf("it answers %q", got)
		}
		return err
	})
}

// refused fails the test unless the server answers with that error.
func (p *place) refused(s server, with string, command ...string) {
	p.t.Helper()
	got, err := s.ask(p.t.Context(), command...)
	require.Error(p.t, err, "%v on %s answers %q", command, s.host, got)
	require.Contains(p.t, err.Error()+got, with)
}

// onePrimary fails the test unless exactly one pod of the resource says that it is the primary, the status and the Service
// name the same, and all others have a link to it.
func (p *place) onePrimary(name, password string) string {
	p.t.Helper()
	var primary string
	await(p.t, name+" has one primary", settling, func(ctx context.Context) error {
		pods, err := p.listPods(ctx, name)
		if err != nil {
			return err
		}
		var primaries []string
		for i := range pods {
			role, err := p.node(pods[i].Name, password).ask(ctx, "INFO", "replication")
			if err != nil {
				return err
			}
			switch {
			case strings.Contains(role, "role:master"):
				primaries = append(primaries, pods[i].Name)
			case !strings.Contains(role, "master_link_status:up"):
				return fmt.Errorf("%s has no link to a primary: %s", pods[i].Name, role)
			}
		}
		if status := p.get(name).Status.Primary; !slices.Equal(primaries, []string{status}) {
			return fmt.Errorf("pods %v are primaries, and the status says %q", primaries, status)
		}
		primary = primaries[0]
		return nil
	})
	return primary
}

// replicasOf are the pods of a resource but its primary.
func (p *place) replicasOf(r *cachev1.RedisCluster) []string {
	return slices.DeleteFunc(slices.Clone(r.Status.Nodes), func(name string) bool { return name == r.Status.Primary })
}

// writer writes numbered keys through a Service, one after the other, each on a connection of its own, and asks after each
// how many replicas have it.
type writer struct {
	p      *place
	server server
	prefix string

	lines  *lineBuffer
	cancel context.CancelFunc
	// ended is closed when the writer has; then why says how.
	ended chan struct{}
	why   error
}

// writing ends when its input does.
const writing = login + `
host=$1; port=$2; prefix=$3
exec 3<&0 # a job in the background does not get this input by itself
( while IFS= read -r _; do :; done; kill -TERM $$ ) <&3 &
i=0
while :; do
  i=$((i+1))
  reply=$(printf 'SET %s:%d %d\nWAIT 1 300\n' "$prefix" $i $i | timeout 3 redis-cli --no-auth-warning -h "$host" -p "$port" 2>&1 | tr '\n' ' ')
  read -r uptime _ </proc/uptime
  echo "$i $uptime $reply"
  sleep 0.05 # the programs that one round starts would else take a whole processor
done`

// newWriter starts a writer; it ends with the test at the latest.
func (p *place) newWriter(s server, prefix string) *writer {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	w := &writer{p: p, server: s, prefix: prefix, lines: newLineBuffer(), cancel: cancel, ended: make(chan struct{})}
	input, stop := io.Pipe()
	go func() {
		_, _ = stop.Write([]byte(s.password + "\n"))
		<-ctx.Done()
		_ = stop.Close()
	}()
	go func() {
		defer close(w.ended)
		w.why = kube.execTo(context.WithoutCancel(ctx), s.from, input, w.lines, "sh", "-c", writing, "write", s.host, strconv.Itoa(int(s.port)), prefix)
	}()
	p.t.Cleanup(cancel)
	return w
}

// write is one key that was written, or not.
type write struct {
	number int
	// at is the time, in seconds of the machine's clock.
	at    float64
	reply string
}

// confirmed tells whether a replica has it.
func (w write) confirmed() bool {
	ok, count, _ := strings.Cut(w.reply, " ")
	copies, err := strconv.Atoi(count)
	return ok == "OK" && err == nil && copies >= 1
}

func (w *writer) writes() []write {
	var all []write
	for _, line := range w.lines.all() {
		fields := strings.SplitN(line, " ", 3)
		if len(fields) != 3 {
			continue
		}
		number, err1 := strconv.Atoi(fields[0])
		at, err2 := strconv.ParseFloat(fields[1], 64)
		if errors.Join(err1, err2) == nil {
			all = append(all, write{number: number, at: at, reply: strings.TrimSpace(fields[2])})
		}
	}
	return all
}

// confirmed are the numbers of the keys that a replica confirmed.
func (w *writer) confirmed() []int {
	var numbers []int
	for _, one := range w.writes() {
		if one.confirmed() {
			numbers = append(numbers, one.number)
		}
	}
	return numbers
}

// awaitMore waits until so many more keys are confirmed.
func (w *writer) awaitMore(count int) {
	w.p.t.Helper()
	from := len(w.confirmed())
	await(w.p.t, fmt.Sprintf("%d more writes are confirmed", count), settling, func(context.Context) error {
		if now := len(w.confirmed()); now < from+count {
			last := "nothing"
			if all := w.writes(); len(all) > 0 {
				last = all[len(all)-1].reply
			}
			select {
			case <-w.ended:
				return fmt.Errorf("the writer ended: %w", w.why)
			default:
			}
			return fmt.Errorf("%d of %d; the last reply is %q", now-from, count, last)
		}
		return nil
	})
}

// stop ends the writer and returns what it wrote.
func (w *writer) stop() []write {
	w.p.t.Helper()
	w.cancel()
	select {
	case <-w.ended:
	case <-time.After(settling):
		w.p.t.Fatal("the writer does not end")
	}
	return w.writes()
}

// longestGap is the longest time between two confirmed writes that follow one another.
func longestGap(writes []write) time.Duration {
	longest, last := 0.0, 0.0
	for _, one := range writes {
		if !one.confirmed() {
			continue
		}
		if last > 0 {
			longest = max(longest, one.at-last)
		}
		last = one.at
	}
	return time.Duration(longest * float64(time.Second))
}

// mustBeOn fails the test unless the server has all of the writer's confirmed keys with their values.
func (w *writer) mustBeOn(s server) {
	w.p.t.Helper()
	numbers := w.confirmed()
	commands := make([]string, 0, len(numbers))
	for _, number := range numbers {
		commands = append(commands, fmt.Sprintf("GET %s:%d", w.prefix, number))
	}
	replies, err := s.askAll(w.p.t.Context(), commands)
	require.NoError(w.p.t, err)
	var lost []int
	for i, number := range numbers {
		if replies[i] != strconv.Itoa(number) {
			lost = append(lost, number)
		}
	}
	require.Empty(w.p.t, lost, "%d of %d confirmed writes are not on %s", len(lost), len(numbers), s.from)
}
