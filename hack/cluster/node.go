package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

// startRuntime makes the node's namespaces and starts its containerd in them; the API server need not run for that.
func (n Node) startRuntime(h Hierarchies) (*Process, error) {
	if err := h.Create(n.Group("runtime")); err != nil {
		return nil, err
	}
	for _, dir := range []string{"cni", "images", "sysctl", "var-lib", "var-log"} {
		if err := os.MkdirAll(n.Dir(dir), 0o755); err != nil {
			return nil, err
		}
	}
	kubeconfig, err := n.cluster.kubeconfig(n.Name())
	if err != nil {
		return nil, err
	}
	files := map[string]string{
		n.Dir("containerd.toml"):         n.containerdConfig(),
		n.Dir("cni", "10-pods.conflist"): n.cniConfig(),
		n.Dir("kubelet.yaml"):            n.kubeletConfig(),
		n.Dir("proxy.yaml"):              n.proxyConfig(),
		n.Dir("kubeconfig"):              kubeconfig,
	}
	for name, value := range kubeletSysctls {
		files[n.Dir("sysctl", name)] = value
	}
	if err := writeFiles(files); err != nil {
		return nil, err
	}
	if err := n.plugIn(); err != nil {
		return nil, err
	}
	progress("starting %s", n.Part("containerd"))
	containerd, err := n.cluster.Start(h, n.containerd())
	if err != nil {
		return nil, err
	}
	return containerd, Await("answer of "+containerd.Name, 30*time.Second, []*Process{containerd}, n.dialContainerd)
}

func (n Node) dialContainerd() error {
	connection, err := net.DialTimeout("unix", n.ContainerdSocket(), time.Second)
	if err == nil {
		_ = connection.Close()
	}
	return err
}

// startKubelet starts what makes the node part of the cluster, beside its containerd.
func (n Node) startKubelet(h Hierarchies) ([]*Process, error) {
	var started []*Process
	for _, part := range []Part{n.kubelet(), n.proxy()} {
		progress("starting %s", part.Name)
		process, err := n.cluster.Start(h, part)
		if err != nil {
			return nil, err
		}
		started = append(started, process)
	}
	return started, nil
}

func (n Node) awaitReady(parts []*Process, ready func() error) error {
	err := Await("readiness of the node "+n.Name(), 90*time.Second, parts, ready)
	if err != nil {
		return err
	}
	return Await("rules of "+n.Part("proxy"), 30*time.Second, parts[1:], n.proxyHealthy)
}

// kubeletSysctls are settings of the kernel that a kubelet insists on. The node sees them so; the machine keeps its own.
var kubeletSysctls = map[string]string{
	"vm.overcommit_memory":      "1",
	"vm.panic_on_oom":           "0",
	"kernel.panic":              "10",
	"kernel.panic_on_oops":      "1",
	"kernel.keys.root_maxkeys":  "1000000",
	"kernel.keys.root_maxbytes": "25000000",
}

// nodeMounts gives the node the folders in which machines differ, while it shares the rest of the host's files. The mounts
// end with the node's last process, as those of a machine do; /run is empty after each start, as a machine's is.
// Without -n, mount would write to the /run of the host.
const nodeMounts = `mount -n --make-rshared / &&
mount -n --bind "$1/var-lib" /var/lib &&
mount -n --bind "$1/var-log" /var/log &&
mount -n -t tmpfs -o mode=755 tmpfs /run &&
for setting in "$1"/sysctl/*; do
	real=/proc/sys/$(basename "$setting" | tr . /)
	if [ -e "$real" ]; then mount -n --bind "$setting" "$real" || exit; fi
done &&
shift && exec "$@"`

func (n Node) containerd() Part {
	return Part{Name: n.Part("containerd"), Group: n.Group("runtime"), Args: []string{
		// By nsenter and not `ip netns exec`, which would mount another /sys, without the control groups.
		"nsenter", "--net=" + string(n.netns()), "unshare", "--mount", "--propagation", "private",
		"sh", "-c", nodeMounts, "sh", n.Dir(),
		n.cluster.Program("containerd"), "--config", n.Dir("containerd.toml"),
	}}
}

// besideContainerd runs a program in the namespaces that the node's containerd is in.
func (n Node) besideContainerd(name string, args ...string) Part {
	containerd := strconv.Itoa(n.cluster.Running(n.Part("containerd")))
	args = append([]string{"nsenter", "--target", containerd, "--mount", "--net"}, args...)
	return Part{Name: n.Part(name), Group: n.Group("runtime"), Args: args}
}

func (n Node) kubelet() Part {
	return n.besideContainerd("kubelet", n.cluster.Program("kubelet"),
		"--config="+n.Dir("kubelet.yaml"), "--kubeconfig="+n.Dir("kubeconfig"),
		"--hostname-override="+n.Name(), "--node-ip="+n.Addr().String(),
		fmt.Sprintf("--node-labels=topology.kubernetes.io/zone=z%d", n.Number))
}

func (n Node) proxy() Part {
	return n.besideContainerd("proxy", n.cluster.Program("kube-proxy"), "--config="+n.Dir("proxy.yaml"))
}

// proxyHealthy: kube-proxy says so once it has written all services' rules.
func (n Node) proxyHealthy() error {
	return getOK(fmt.Sprintf("http://%s:10256/healthz", n.Addr()))
}

// isRunning tells whether everything of the node is there; a cut cable does not matter.
func (n Node) isRunning() bool {
	for _, part := range []string{"containerd", "kubelet", "proxy"} {
		if n.cluster.Running(n.Part(part)) == 0 {
			return false
		}
	}
	return true
}

// kill ends everything on the node at once, without the chance to say goodbye.
func (n Node) kill(h Hierarchies) error {
	if n.cluster.switchNetns().exists() {
		// It has no cable when its start was interrupted.
		_ = n.setCable("down")
	}
	if err := h.Kill(n.Group()); err != nil {
		return err
	}
	for _, part := range []string{"kubelet", "proxy", "containerd"} {
		n.cluster.Stop(n.Part(part), 0)
	}
	return nil
}

// restart starts a dead node as a machine starts: its disk is as it was, its network and /run are new.
func (n Node) restart(h Hierarchies) error {
	began := time.Now()
	if err := n.kill(h); err != nil {
		return err
	}
	if err := n.unplugForGood(); err != nil {
		return err
	}
	if err := h.Remove(n.Group()); err != nil {
		return err
	}
	containerd, err := n.startRuntime(h)
	if err != nil {
		return err
	}
	kubelet, err := n.startKubelet(h)
	if err != nil {
		return err
	}
	api, err := n.cluster.API()
	if err != nil {
		return err
	}
	return n.awaitReady(append(kubelet, containerd), func() error { return api.NodeReadySince(n.Name(), began) })
}
