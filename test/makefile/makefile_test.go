// Package makefile tests what the Makefile and hack/demo find out about the cluster that they are to work on, with programs that only
// say what they were asked.
package makefile

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const checkout = "../.."

// programs of a machine whose local cluster has the KUBECONFIG local/config and answers while the file up exists.
var programs = map[string]string{
	"bin/cluster": `[ "$1" != env ] || echo "export KUBECONFIG=$ROOT/local/config"
[ "$1" != load ] || echo "loaded $2"`,
	"bin/kubectl": `echo "kubectl of $KUBECONFIG: $*" >>$ROOT/asked
case "$* $KUBECONFIG" in
*readyz*local/config* | *local/config*readyz*) [ -e $ROOT/up ] ;;
*"jsonpath={.spec.replicas}"*) [ -z "$DEPLOYED" ] || echo $DEPLOYED ;;
*"rollout status"*) [ -n "$DEPLOYED" ] ;;
*go-template*) echo my-redis-1 ;;
esac`,
	"bin/id":    `echo 0`,
	"bin/uname": `echo Linux`,
	"bin/go":    `mkdir -p bin dist; for last; do :; done; case "$*" in *bin/manager*) cp $ROOT/bin/operator bin/manager ;; esac`,
	// What go build would make.
	"bin/operator": `echo "the operator runs on $KUBECONFIG"`,
	"bin/images":   `mkdir -p dist; echo "$*" >dist/redis-operator.tar`,
}

// machine is a folder with the Makefile and these programs.
type machine struct {
	*testing.T
	root string
	env  []string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("needs make")
	}
	m := &machine{T: t, root: t.TempDir()}
	for name, text := range programs {
		m.write(name, "#!/bin/bash\n"+text+"\n", 0o755)
	}
	m.copy("Makefile", "hack/demo", "hack/patiently", "config/samples/cache_v1_rediscluster.yaml")
	m.env = append(os.Environ(), "ROOT="+m.root, "PATH="+filepath.Join(m.root, "bin")+":"+os.Getenv("PATH"), "KUBECONFIG=", "KUBECTL="+m.path("bin/kubectl"),
		"DEPLOYED=", "MAKEFLAGS=", "IMG=")
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.root, name) }

func (m *machine) write(name, text string, mode os.FileMode) {
	require.NoError(m, os.MkdirAll(filepath.Dir(m.path(name)), 0o755))
	require.NoError(m, os.WriteFile(m.path(name), []byte(text), mode))
}

func (m *machine) copy(names ...string) {
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(checkout, name))
		require.NoError(m, err)
		info, err := os.Stat(filepath.Join(checkout, name))
		require.NoError(m, err)
		m.write(name, string(text), info.Mode())
	}
}

func (m *machine) set(env ...string) { m.env = append(m.env, env...) }

// run gives what a command says, and whether it succeeds.
func (m *machine) run(command ...string) (string, bool) {
	c := exec.CommandContext(m.Context(), command[0], command[1:]...)
	c.Dir, c.Env, c.WaitDelay = m.root, m.env, 10*time.Second
	said, err := c.CombinedOutput()
	m.Logf("%s: %v\n%s", strings.Join(command, " "), err, said)
	return string(said), err == nil
}

func TestWhichClusterATargetWorksOn(t *testing.T) {
	const none = "No cluster is up. Either 'make cluster-up' starts one on this machine"
	for name, c := range map[string]struct {
		kubeconfig string
		up         bool
		asked      string // of which cluster
		refused    string
	}{
		"none is named, and the local one is up":           {"", true, "local/config", ""},
		"none is named, and the local one is down":         {"", false, "", none},
		"the local one, as bin/cluster env names it":       {"local/config", true, "local/config", ""},
		"the local one, as bin/cluster env names it, down": {"local/config", false, "", none},
		"another one":                         {"mine", true, "mine", ""},
		"another one while the local is down": {"mine", false, "mine", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			if c.up {
				m.write("up", "", 0o644)
			}
			if c.kubeconfig != "" {
				m.set("KUBECONFIG=" + m.path(c.kubeconfig))
			}
			said, ok := m.run("make", "install")
			assert.Equal(t, c.refused == "", ok)
			assert.Contains(t, said, c.refused)
			if c.refused == "" {
				asked, err := os.ReadFile(m.path("asked"))
				require.NoError(t, err)
				assert.Contains(t, string(asked), "kubectl of "+m.path(c.asked)+": apply")
			}
		})
	}
}

// What the demo builds and starts is the Makefile's; here that only says that it was asked.
func TestWhichClusterTheDemoWorksOn(t *testing.T) {
	const stub = "cluster-up:\n\t@touch up; echo asked for $@\ndeploy:\n\t@echo asked for $@ on $$KUBECONFIG\n"
	for name, c := range map[string]struct {
		kubeconfig, deployed string
		up                   bool
		local                bool
	}{
		"none is named":                                                {"", "", false, true},
		"none is named, and the local one is up":                       {"", "", true, true},
		"the local one, as bin/cluster env names it":                   {"local/config", "", true, true},
		"the local one, as bin/cluster env names it, while it is down": {"local/config", "", false, true},
		"another one, with the operator":                               {"mine", "2", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			m.write("Makefile", stub, 0o644)
			if c.up {
				m.write("up", "", 0o644)
			}
			m.set("DEPLOYED=" + c.deployed)
			if c.kubeconfig != "" {
				m.set("KUBECONFIG=" + m.path(c.kubeconfig))
			}
			said, ok := m.run("hack/demo")
			assert.True(t, ok)
			first, _, _ := strings.Cut(said, "\n")
			if c.local {
				assert.Contains(t, first, "Using the local cluster")
				assert.Contains(t, said, "asked for cluster-up\n")
				assert.Contains(t, said, "asked for deploy on "+m.path("local/config"))
				assert.Contains(t, said, "== 5 of 5: ")
				assert.Contains(t, said, "  eval $(bin/cluster env) ")
			} else {
				assert.Contains(t, first, "Using the cluster of KUBECONFIG="+m.path(c.kubeconfig))
				assert.NotContains(t, said, "asked for")
				assert.Contains(t, said, "== 4 of 4: ")
				assert.NotContains(t, said, "  eval $(bin/cluster env) ")
			}
		})
	}
}

func TestTheDemoNeedsAnOperatorOnAClusterOfYours(t *testing.T) {
	m := newMachine(t)
	m.set("KUBECONFIG=" + m.path("mine"))
	said, ok := m.run("hack/demo")
	assert.False(t, ok)
	assert.Contains(t, said, "has no operator yet. Build an image that it can pull")
}

// make deploy makes a folder for kustomize that has CONFIG in it.
func TestDeployTakesAConfiguration(t *testing.T) {
	for config, want := range map[string]string{
		"":                         "resources:\n- ../../config/default\n",
		"config/namespaced":        "resources:\n- ../../config/namespaced\n",
		"../of-ours/config/redis/": "resources:\n- ../../../of-ours/config/redis\n",
	} {
		t.Run(config, func(t *testing.T) {
			m := newMachine(t)
			m.set("KUBECONFIG="+m.path("mine"), "DEPLOYED=2")
			command := []string{"make", "deploy", "IMG=registry/redis-operator:v1"}
			if config != "" {
				command = append(command, "CONFIG="+config)
			}
			require.NoError(t, os.MkdirAll(m.path(config), 0o755))
			_, ok := m.run(command...)
			assert.True(t, ok)
			made, err := os.ReadFile(m.path("dist/deploy/kustomization.yaml"))
			require.NoError(t, err)
			assert.Contains(t, string(made), want)
			assert.Contains(t, string(made), `value: "registry/redis-operator:v1"`)
		})
	}
}

func TestRunWarnsOfAnOperatorInTheCluster(t *testing.T) {
	const words = "kubectl -n redis-operator-system scale deployment redis-operator --replicas=0"
	for replicas, warns := range map[string]bool{"": false, "0": false, "2": true} {
		t.Run(replicas, func(t *testing.T) {
			m := newMachine(t)
			m.set("KUBECONFIG="+m.path("mine"), "DEPLOYED="+replicas)
			said, ok := m.run("make", "run")
			assert.True(t, ok)
			assert.Equal(t, warns, strings.Contains(said, words))
			assert.Contains(t, said, "the operator runs on "+m.path("mine"))
		})
	}
}

func TestALongStepGivesSignsOfLife(t *testing.T) {
	m := newMachine(t)
	m.set("SIGN_OF_LIFE=0.2")
	began := time.Now()
	said, ok := m.run("hack/patiently", "bin/x", "bash", "-c", "echo go: downloading a v1; sleep 0.9; echo wrong >&2; exit 3")
	assert.False(t, ok)
	assert.Less(t, time.Since(began), 10*time.Second, "nothing of it stays behind")
	assert.Contains(t, said, "[build] bin/x: 2 min so far; its log is bin/log/bin-x.log\n")
	assert.Contains(t, said, "wrong\n")
	assert.NotContains(t, said, "downloading")
	log, err := os.ReadFile(m.path("bin/log/bin-x.log"))
	require.NoError(t, err)
	assert.Equal(t, "go: downloading a v1\nwrong\n", string(log))
}
