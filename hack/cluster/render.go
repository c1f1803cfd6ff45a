package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"text/template"
)

// The files that the parts read. They are texts, as their authors document them, so that this program needs none of the
// parts' libraries.

// kubeconfig carries the certificates itself, so that a copy of it works.
func (c *Cluster) kubeconfig(user string) (string, error) {
	values := map[string]string{"Name": c.Name, "User": user, "Server": c.APIServer()}
	for key, file := range map[string]string{"CA": "ca.crt", "Cert": user + ".crt", "Key": user + ".key"} {
		content, err := os.ReadFile(c.PKI(file))
		if err != nil {
			return "", err
		}
		values[key] = base64.StdEncoding.EncodeToString(content)
	}
	return render(kubeconfigText, values), nil
}

const kubeconfigText = `apiVersion: v1
kind: Config
clusters:
- name: {{.Name}}
  cluster: {server: "{{.Server}}", certificate-authority-data: {{.CA}}}
users:
- name: {{.User}}
  user: {client-certificate-data: {{.Cert}}, client-key-data: {{.Key}}}
contexts:
- name: {{.Name}}
  context: {cluster: {{.Name}}, user: {{.User}}}
current-context: {{.Name}}
`

// auditPolicyText records the requests that pods make, the operator's among them: who, what, when and the answer's code.
const auditPolicyText = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: None}
`

// corefile keeps answers for a second only: tests watch names change.
func (c *Cluster) corefile() string {
	return render(corefileText, map[string]any{"Addr": c.HostAddr(), "Kubeconfig": c.Kubeconfig(), "Context": c.Name})
}

const corefileText = `.:53 {
  bind {{.Addr}}
  errors
  cache 1
  kubernetes cluster.local {
    kubeconfig {{.Kubeconfig}} {{.Context}}
    pods insecure
    ttl 1
  }
}
`

// containerdConfig: restrict_oom_score_adj because a machine that is itself a container may not lower its processes'
// score, and then no pod would start.
func (n Node) containerdConfig() string {
	return render(containerdText, map[string]any{
		"Root": n.Dir("containerd"), "Socket": n.ContainerdSocket(), "CNI": n.Dir("cni"), "Opt": n.Dir("opt"),
		"Programs": n.cluster.Dir("programs"), "Pause": pauseImage,
	})
}

const pauseImage = "registry.k8s.io/pause:3.10"

const containerdText = `version = 3
root = "{{.Root}}"
state = "/run/containerd"
[grpc]
  address = "{{.Socket}}"
[plugins.'io.containerd.internal.v1.opt']
  path = "{{.Opt}}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "{{.Pause}}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["{{.Programs}}"]
  conf_dir = "{{.CNI}}"
`

// cniConfig connects each pod by a cable of its own and routes, not by a bridge: on a bridge, answers between two pods of
// a node would bypass the translation of service addresses.
func (n Node) cniConfig() string {
	return render(cniText, map[string]any{"Pods": n.Pods()})
}

const cniText = `{
  "cniVersion": "1.0.0",
  "name": "pods",
  "plugins": [
    {
      "type": "ptp",
      "ipam": {
        "type": "host-local",
        "dataDir": "/run/cni",
        "ranges": [[{"subnet": "{{.Pods}}"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    },
    {"type": "portmap", "capabilities": {"portMappings": true}}
  ]
}
`

// kubeletConfig: eviction only when the machine itself is at its end, since all nodes share its memory and disk.
func (n Node) kubeletConfig() string {
	c := n.cluster
	return render(kubeletText, map[string]any{
		"Socket": n.ContainerdSocket(), "Cgroup": "/" + n.Group(), "Addr": n.Addr(), "DNS": c.HostAddr(),
		"CA": c.PKI("ca.crt"), "Cert": c.PKI(n.Name() + ".crt"), "Key": c.PKI(n.Name() + ".key"),
	})
}

const kubeletText = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
containerRuntimeEndpoint: "unix://{{.Socket}}"
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: "{{.Cgroup}}"
enforceNodeAllocatable: [pods]
address: {{.Addr}}
tlsCertFile: {{.Cert}}
tlsPrivateKeyFile: {{.Key}}
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: {{.CA}}}
authorization: {mode: Webhook}
clusterDNS: [{{.DNS}}]
clusterDomain: cluster.local
resolvConf: ""
failSwapOn: false
serializeImagePulls: false
imageGCHighThresholdPercent: 100
nodeStatusUpdateFrequency: 2s
evictionHard: {memory.available: "100Mi", nodefs.available: "1%", imagefs.available: "1%", nodefs.inodesFree: "1%"}
`

func (n Node) proxyConfig() string {
	return render(proxyText, map[string]any{
		"Node": n.Name(), "Pods": n.cluster.PodCIDR, "Kubeconfig": n.cluster.Dir("proxy.kubeconfig"),
	})
}

// The connection tracking's size is the machine's, and not for a node to set.
const proxyText = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: {{.Pods}}
hostnameOverride: {{.Node}}
clientConnection: {kubeconfig: {{.Kubeconfig}}}
conntrack: {maxPerCore: 0, min: 0}
`

// render panics on a mistake in a text above, which every test and every start would show.
func render(text string, values any) string {
	var out strings.Builder
	parsed := template.Must(template.New("").Option("missingkey=error").Parse(text))
	if err := parsed.Execute(&out, values); err != nil {
		panic(fmt.Sprintf("render: %v", err))
	}
	return out.String()
}
