// Package apiserver gives integration tests a real kube-apiserver with its etcd, built by hack/build-parts.
//
// It is an API server and nothing else: no controllers (nothing is garbage collected, no Deployment makes pods, a deleted
// namespace stays), no scheduler, no nodes. What a test needs of them it writes itself. The CRD of config/crd is installed.
package apiserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var shared struct {
	sync.Mutex
	enabled bool
	config  *rest.Config
	stop    func() error
}

// Main lets all tests of a package share one server, which takes some seconds to start:
//
//	func TestMain(m *testing.M) { apiserver.Main(m) }
//
// Before the server is stopped, it calls what is given: whoever still watches the server holds up its end.
func Main(m *testing.M, before ...func()) {
	shared.enabled = true
	code := m.Run()
	for _, end := range before {
		end()
	}
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stop the API server:", err)
		}
	}
	os.Exit(code)
}

// Start gives the API server's address and an administrator's credentials. Without Main each call starts a server of its
// own, which ends with the test.
func Start(t testing.TB) *rest.Config {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.config != nil {
		return rest.CopyConfig(shared.config)
	}
	config, stop, err := start()
	if err != nil {
		t.Fatal(err)
	}
	if !shared.enabled {
		t.Cleanup(func() {
			if err := stop(); err != nil {
				t.Errorf("stop the API server: %v", err)
			}
		})
		return config
	}
	shared.config, shared.stop = config, stop
	return rest.CopyConfig(config)
}

// Namespace makes a namespace for one test. Tests that share a server stay out of each other's way in it.
func Namespace(t testing.TB, config *rest.Config) string {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

func start() (*rest.Config, func() error, error) {
	checkout, err := checkout()
	if err != nil {
		return nil, nil, err
	}
	programs, err := mortal(filepath.Join(checkout, "bin", "cluster-parts"))
	if err != nil {
		return nil, nil, err
	}
	environment := &envtest.Environment{
		BinaryAssetsDirectory: programs,
		CRDDirectoryPaths:     []string{filepath.Join(checkout, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Otherwise it looks for a default route, which a network namespace need not have. It will not tell pods of such an
	// address, and need not.
	environment.ControlPlane.GetAPIServer().Configure().
		Set("advertise-address", "127.0.0.1").Set("endpoint-reconciler-type", "none")
	stop := func() error {
		// What did start would outlive the test.
		return errors.Join(environment.Stop(), os.RemoveAll(programs))
	}
	config, err := environment.Start()
	if err != nil {
		_ = stop()
		return nil, nil, fmt.Errorf("start etcd and kube-apiserver: %w", err)
	}
	return config, stop, nil
}

// mortal makes a folder with the two programs in a form that dies with the test. Nothing else would stop them when a test
// panics, runs out of time or is killed.
func mortal(parts string) (string, error) {
	folder, err := os.MkdirTemp("", "apiserver-")
	if err != nil {
		return "", err
	}
	for _, name := range []string{"etcd", "kube-apiserver"} {
		program := filepath.Join(parts, name)
		if _, err := os.Stat(program); err != nil {
			return "", fmt.Errorf("%w; build it with hack/build-parts etcd kube, or run make test-integration", err)
		}
		script := fmt.Sprintf("#!/bin/sh\nexec setpriv --pdeathsig KILL %q \"$@\"\n", program)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
			return "", err
		}
	}
	return folder, nil
}

// checkout is the folder with go.mod; go test runs a test in its package's folder.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.New("no go.mod above the working directory")
}
