//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	operatorNamespace = "redis-operator-system"
	operatorName      = "redis-operator"
	operatorReplicas  = int32(2)
	operatorUser      = "system:serviceaccount:redis-operator-system:redis-operator"
	operatorLease     = "redis-operator.cache.example.com"
)

// operator is the Deployment that runs the operator.
func (c *cluster) operator(ctx context.Context) (*appsv1.Deployment, error) {
	var d appsv1.Deployment
	err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &d)
	return &d, err
}

func (c *cluster) scaleOperator(ctx context.Context, replicas int32) error {
	d, err := c.operator(ctx)
	if err != nil {
		return err
	}
	before := d.DeepCopy()
	d.Spec.Replicas = new(replicas)
	return c.Patch(ctx, d, client.MergeFrom(before))
}

// operatorReady is nil when all pods of the operator are ready, and one of them leads.
func (c *cluster) operatorReady(ctx context.Context) error {
	d, err := c.operator(ctx)
	if err != nil {
		return err
	}
	if d.Status.ObservedGeneration != d.Generation || d.Status.ReadyReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas {
		return fmt.Errorf("%d of %d pods of the operator are ready", d.Status.ReadyReplicas, *d.Spec.Replicas)
	}
	_, err = c.leader(ctx)
	return err
}

func (c *cluster) operatorPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(operatorNamespace), client.MatchingLabels{"app.kubernetes.io/name": operatorName})
	return pods.Items, err
}

// leaderIdentity is of the operator process that leads: its pod's name and a part that is new with each start.
func (c *cluster) leaderIdentity(ctx context.Context) (string, error) {
	var lease coordinationv1.Lease
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorLease}, &lease); err != nil {
		return "", err
	}
	identity := ptr.Deref(lease.Spec.HolderIdentity, "")
	if identity == "" {
		return "", fmt.Errorf("no operator leads")
	}
	return identity, nil
}

// leader is the pod of the operator that acts.
func (c *cluster) leader(ctx context.Context) (*corev1.Pod, error) {
	identity, err := c.leaderIdentity(ctx)
	if err != nil {
		return nil, err
	}
	holder, _, _ := strings.Cut(identity, "_")
	var pod corev1.Pod
	if err := c.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: holder}, &pod); err != nil {
		return nil, fmt.Errorf("the operator that leads: %w", err)
	}
	return &pod, nil
}

// operatorLogs are what the operator's pods wrote since a moment; the zero time is all, that of earlier runs included.
func (c *cluster) operatorLogs(ctx context.Context, since time.Time) (string, error) {
	pods, err := c.operatorPods(ctx)
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for i := range pods {
		options := corev1.PodLogOptions{}
		if !since.IsZero() {
			options.SinceTime = &metav1.Time{Time: since}
		} else if pods[i].Status.ContainerStatuses != nil && pods[i].Status.ContainerStatuses[0].RestartCount > 0 {
			if text, err := c.logs(ctx, &pods[i], corev1.PodLogOptions{Previous: true}); err == nil {
				all.WriteString(text)
			}
		}
		text, err := c.logs(ctx, &pods[i], options)
		if err != nil {
			return "", err
		}
		all.WriteString(text)
	}
	return all.String(), nil
}

// withoutOperator takes the operator out of the cluster until the test ends, or until it is called back.
func withoutOperator(t *testing.T) (back func()) {
	t.Helper()
	require.NoError(t, kube.scaleOperator(t.Context(), 0))
	back = sync.OnceFunc(func() {
		t.Helper()
		ctx := context.WithoutCancel(t.Context())
		assert.NoError(t, kube.scaleOperator(ctx, operatorReplicas))
		assert.NoError(t, poll(ctx, 2*time.Minute, kube.operatorReady))
	})
	t.Cleanup(back)
	await(t, "the operator is away", settling, func(ctx context.Context) error {
		pods, err := kube.operatorPods(ctx)
		if err == nil && len(pods) > 0 {
			err = fmt.Errorf("%d pods are left", len(pods))
		}
		return err
	})
	return back
}

// builtOperator builds the operator's program from this checkout. Files may be replaced in it: path -> content.
func builtOperator(t *testing.T, replaced map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for path, content := range replaced {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
		overlay.Replace[filepath.Join(root, path)] = file
	}
	text, err := json.Marshal(overlay)
	require.NoError(t, err)
	overlayFile := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(overlayFile, text, 0o600))
	program := filepath.Join(dir, "manager")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-overlay", overlayFile, "-o", program, "./cmd")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

// process is an operator that runs on this machine, outside the cluster, as `make run` does it.
type process struct {
	t       *testing.T
	command *exec.Cmd
	log     *lineBuffer
	ended   chan struct{}
}

// run starts an operator on this machine; it ends with the test at the latest.
func run(t *testing.T, program, kubeconfig string) *process {
	t.Helper()
	return runBy(t, program, kubeconfig, (*exec.Cmd).Start)
}

// runBy is run, with a way of starting the program.
func runBy(t *testing.T, program, kubeconfig string, start func(*exec.Cmd) error) *process {
	t.Helper()
	o := &process{t: t, log: newLineBuffer(), ended: make(chan struct{})}
	// Not with the test's context: the cleanup ends it, after those that the test has added since.
	o.command = exec.Command(program, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	o.command.Env = append(withoutProxies(os.Environ()), "KUBECONFIG="+kubeconfig)
	o.command.Stdout, o.command.Stderr = o.log, o.log
	// If the test is killed, so is it.
	o.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, start(o.command))
	go func() {
		_ = o.command.Wait()
		close(o.ended)
	}()
	t.Cleanup(func() {
		o.kill()
		if t.Failed() {
			for _, line := range o.log.all() {
				t.Log("operator:", shortened(line))
			}
		}
	})
	return o
}

func withoutProxies(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasSuffix(strings.ToUpper(name), "_PROXY") {
			kept = append(kept, variable)
		}
	}
	return kept
}

// kill ends the operator at once, as a crash would.
func (o *process) kill() {
	_ = o.command.Process.Kill()
	<-o.ended
}

// awaitWorking waits until the operator has started to work.
func (o *process) awaitWorking() {
	o.t.Helper()
	await(o.t, "the operator works", settling, func(context.Context) error {
		select {
		case <-o.ended:
			return fmt.Errorf("it ended: %s", o.log)
		default:
		}
		if !strings.Contains(o.log.String(), "Starting workers") {
			return fmt.Errorf("it says %s", o.log)
		}
		return nil
	})
}

// kubeconfigFor writes a kubeconfig with this test's credentials for an API server that is reached at some address.
func kubeconfigFor(t *testing.T, config *rest.Config, address string) string {
	t.Helper()
	config = rest.CopyConfig(config)
	require.NoError(t, rest.LoadTLSFiles(config))
	serverName := config.ServerName
	if serverName == "" {
		original, _, err := rest.DefaultServerUrlFor(config)
		require.NoError(t, err)
		serverName = original.Hostname()
	}
	if address == "" {
		address, serverName = config.Host, config.ServerName
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: address, TLSServerName: serverName, CertificateAuthorityData: config.CAData, InsecureSkipTLSVerify: config.Insecure}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {
			ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
			Username: config.Username, Password: config.Password, Exec: config.ExecProvider,
		}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}, file))
	return file
}

// hostOf is the host and port of the API server.
func hostOf(t *testing.T, config *rest.Config) string {
	t.Helper()
	address, _, err := rest.DefaultServerUrlFor(config)
	require.NoError(t, err)
	port := address.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(address.Hostname(), port)
}
