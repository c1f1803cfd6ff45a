//go:build integration

package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"example.com/redis-operator/test/apiserver"
)

// machines are the Node objects that pods are bound to. Nobody watches over them.
var machines = []string{"machine-a", "machine-b", "machine-c"}

var cluster struct {
	sync.Once
	config      *rest.Config
	controllers *exec.Cmd
	// dir has what the controllers read and write.
	dir string
	err error
}

// startCluster gives the API server, with Kubernetes' own controllers at work and machines in it. All tests share it.
func startCluster(t testing.TB) *rest.Config {
	t.Helper()
	cluster.Do(func() {
		config := apiserver.Start(t)
		config.QPS = -1
		cluster.config = config
		if cluster.err = startControllers(config); cluster.err != nil {
			return
		}
		client := kubernetes.NewForConfigOrDie(config)
		for _, name := range machines {
			machine := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
			machine, cluster.err = client.CoreV1().Nodes().Create(t.Context(), machine, metav1.CreateOptions{})
			if cluster.err != nil {
				return
			}
			machine.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played"}}
			if _, cluster.err = client.CoreV1().Nodes().UpdateStatus(t.Context(), machine, metav1.UpdateOptions{}); cluster.err != nil {
				return
			}
		}
	})
	require.NoError(t, cluster.err)
	return rest.CopyConfig(cluster.config)
}

// startControllers starts kube-controller-manager with those controllers that the operator's objects need.
func startControllers(config *rest.Config) error {
	dir, err := os.MkdirTemp("", "integration-controllers-")
	if err != nil {
		return err
	}
	cluster.dir = dir
	kubeconfig := filepath.Join(dir, "kubeconfig")
	if err := writeKubeconfig(config, kubeconfig); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return err
	}
	cmd := exec.Command(fromCheckout("bin", "cluster-parts", "kube-controller-manager"),
		"--kubeconfig="+kubeconfig,
		"--controllers=deployment-controller,replicaset-controller,garbage-collector-controller,disruption-controller,endpointslice-controller",
		"--leader-elect=false", "--secure-port=0", "--cert-dir="+dir,
		"--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-gc-syncs=4",
	)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w; build it with hack/build-parts kube, or run make test-integration", err)
	}
	cluster.controllers = cmd
	return nil
}

func stopControllers() {
	if cmd := cluster.controllers; cmd != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	if cluster.dir != "" {
		_ = os.RemoveAll(cluster.dir)
	}
}

func writeKubeconfig(config *rest.Config, file string) error {
	content := clientcmdapi.NewConfig()
	content.Clusters["test"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	content.AuthInfos["test"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	content.Contexts["test"] = &clientcmdapi.Context{Cluster: "test", AuthInfo: "test"}
	content.CurrentContext = "test"
	return clientcmd.WriteToFile(*content, file)
}

// fromCheckout is a path below the folder with go.mod, two folders up: go test runs a test in its package's folder.
func fromCheckout(elements ...string) string {
	path, err := filepath.Abs(filepath.Join(append([]string{"..", ".."}, elements...)...))
	if err != nil {
		panic(err)
	}
	return path
}
