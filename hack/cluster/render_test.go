package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestConfigurationsHaveTheNodesOwnValues(t *testing.T) {
	node := testCluster(t, nil).AllNodes()[1]
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"containerd": {node.containerdConfig(), []string{
			`address = "/var/tmp/redis-operator-cluster/redis-operator/nodes/n2/containerd.sock"`,
			`conf_dir = "/var/tmp/redis-operator-cluster/redis-operator/nodes/n2/cni"`,
			`sandbox = "registry.k8s.io/pause:3.10"`, `state = "/run/containerd"`,
		}},
		"kubelet": {node.kubeletConfig(), []string{
			`cgroupRoot: "/cluster-redis-operator/n2"`, "address: 172.30.0.12", "clusterDNS: [172.30.0.1]", "serializeImagePulls: false",
		}},
		"proxy":    {node.proxyConfig(), []string{"hostnameOverride: n2", "clusterCIDR: 10.244.0.0/16", "mode: nftables"}},
		"CNI":      {node.cniConfig(), []string{`"subnet": "10.244.2.0/24"`}},
		"Corefile": {node.cluster.corefile(), []string{"bind 172.30.0.1", "/redis-operator/kubeconfig redis-operator"}},
	} {
		for _, want := range test.want {
			if !strings.Contains(test.text, want) {
				t.Errorf("%s lacks %q:\n%s", name, want, test.text)
			}
		}
		if strings.Contains(test.text, "<no value>") {
			t.Errorf("%s has holes:\n%s", name, test.text)
		}
	}
}

func TestConfigurationsAreWellFormed(t *testing.T) {
	node := testCluster(t, nil).AllNodes()[0]
	for name, text := range map[string]string{
		"kubelet": node.kubeletConfig(), "proxy": node.proxyConfig(), "audit policy": auditPolicyText,
		"kubeconfig": render(kubeconfigText, map[string]string{"Name": "x", "User": "u", "Server": "https://h:1", "CA": "a", "Cert": "b", "Key": "c"}),
	} {
		var parsed map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &parsed); err != nil || parsed["kind"] == nil {
			t.Errorf("%s: kind %v, error %v:\n%s", name, parsed["kind"], err, text)
		}
	}
	if !json.Valid([]byte(node.cniConfig())) {
		t.Errorf("CNI:\n%s", node.cniConfig())
	}
}

func TestEveryPartRunsInAGroupOfTheCluster(t *testing.T) {
	c := testCluster(t, nil)
	node := c.AllNodes()[2]
	for _, part := range []Part{
		c.etcd(), c.apiserver(), c.controllerManager(), c.scheduler(), c.coredns(), node.containerd(), node.kubelet(), node.proxy(),
	} {
		if !strings.HasPrefix(part.Group, "cluster-redis-operator/") {
			t.Errorf("%s runs in %q", part.Name, part.Group)
		}
	}
	if got := node.kubelet().Name; got != "kubelet-n3" {
		t.Errorf("the kubelet is called %q", got)
	}
}

// Two clusters' parts that listen on all addresses, or on the same, would exclude each other.
func TestPartsListenWhereNoOtherClusterDoes(t *testing.T) {
	c := testCluster(t, nil)
	loopback := c.LoopbackAddr().String()
	for _, part := range []Part{c.etcd(), c.apiserver(), c.controllerManager(), c.scheduler()} {
		all := strings.Join(part.Args, " ")
		if strings.Contains(all, "0.0.0.0") || strings.Contains(all, "127.0.0.1") {
			t.Errorf("%s: %s", part.Name, all)
		}
		if part.Name != "apiserver" && !strings.Contains(all, loopback) {
			t.Errorf("%s does not listen on %s: %s", part.Name, loopback, all)
		}
	}
}
