package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"
)

// stateRoot is the same for every checkout, so that one can clean up what another started.
const stateRoot = "/var/tmp/redis-operator-cluster"

const maxNodes = 6

// Options is what a caller may choose. It is stored with the cluster.
type Options struct {
	Name        string
	Nodes       int
	Subnet      string
	PodCIDR     string
	ServiceCIDR string
}

// Cluster knows every name, address and path of a cluster; all of them follow from the options.
type Cluster struct {
	Options
	Checkout string

	subnet, pods, services netip.Prefix
}

// Node is one node of a cluster, numbered from 1.
type Node struct {
	cluster *Cluster
	Number  int
}

// The name becomes part of a host name, of paths and of device names.
var validName = regexp.MustCompile(`^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$`)

// NewCluster checks the options.
func NewCluster(options Options, checkout string) (*Cluster, error) {
	if !validName.MatchString(options.Name) {
		return nil, fmt.Errorf("the name %q must be lower case letters, digits and dashes, at most 40, and start with a letter", options.Name)
	}
	if options.Nodes < 1 || options.Nodes > maxNodes {
		return nil, fmt.Errorf("%d nodes: must be 1 to %d", options.Nodes, maxNodes)
	}
	c := &Cluster{Options: options, Checkout: checkout}
	for _, block := range []struct {
		flag, value string
		maxBits     int
		prefix      *netip.Prefix
	}{
		// The nodes are .11 to .16; each of them gets the /24 of pods with its own number; DNS and API get a service each.
		{"--subnet", options.Subnet, 27, &c.subnet},
		{"--pod-cidr", options.PodCIDR, 21, &c.pods},
		{"--service-cidr", options.ServiceCIDR, 24, &c.services},
	} {
		prefix, err := netip.ParsePrefix(block.value)
		if err != nil || !prefix.Addr().Is4() || prefix != prefix.Masked() || prefix.Bits() > block.maxBits {
			return nil, fmt.Errorf("%s %q must be an IPv4 network like 10.1.0.0/16, of at least a /%d", block.flag, block.value, block.maxBits)
		}
		*block.prefix = prefix
	}
	if c.subnet.Overlaps(c.pods) || c.subnet.Overlaps(c.services) || c.pods.Overlaps(c.services) {
		return nil, fmt.Errorf("the networks %s, %s and %s must not overlap", c.subnet, c.pods, c.services)
	}
	return c, nil
}

// ID is a short unique form of the name, since names of network devices have at most 15 characters.
func (c *Cluster) ID() string {
	sum := sha256.Sum256([]byte(c.Name))
	letters := strings.ReplaceAll(c.Name, "-", "")
	return letters[:min(len(letters), 6)] + hex.EncodeToString(sum[:2])
}

func (c *Cluster) Dir(path ...string) string {
	return filepath.Join(append([]string{stateRoot, c.Name}, path...)...)
}

func (c *Cluster) Kubeconfig() string       { return c.Dir("kubeconfig") }
func (c *Cluster) AuditLog() string         { return c.Dir("log", "audit.log") }
func (c *Cluster) LogOf(part string) string { return c.Dir("log", part+".log") }
func (c *Cluster) PKI(file string) string   { return c.Dir("pki", file) }

// Program is one of those that hack/build-parts builds, in the cluster's own folder: there a running cluster keeps its
// programs when the checkout is built again, cleaned or removed.
func (c *Cluster) Program(name string) string { return c.Dir("programs", name) }

func (c *Cluster) builtProgram(name string) string {
	return filepath.Join(c.Checkout, "bin", "cluster-parts", name)
}

// CgroupName is the control group, in each hierarchy, under which everything of the cluster runs.
func (c *Cluster) CgroupName() string { return "cluster-" + c.Name }

// Group is a control group of the cluster.
func (c *Cluster) Group(path ...string) string {
	return filepath.Join(append([]string{c.CgroupName()}, path...)...)
}

// HostDevice is the host's end of its cable to the nodes' switch.
func (c *Cluster) HostDevice() string { return c.ID() + "-br" }

// HostAddr is where the host is on the nodes' network: API server and DNS listen there.
func (c *Cluster) HostAddr() netip.Addr { return addrAt(c.subnet, 1) }

func (c *Cluster) APIServer() string { return fmt.Sprintf("https://%s:6443", c.HostAddr()) }

// LoopbackAddr is an address of the loopback network that follows from the name: parts that only the control plane talks
// to listen there at their usual ports, beside those of another cluster.
func (c *Cluster) LoopbackAddr() netip.Addr {
	sum := sha256.Sum256([]byte(c.Name))
	return netip.AddrFrom4([4]byte{127, 1 + sum[0]%254, 1 + sum[1]%254, 1})
}

// KubernetesService is the address of the service `kubernetes`, the first of the range.
func (c *Cluster) KubernetesService() netip.Addr { return addrAt(c.services, 1) }

func (c *Cluster) AllNodes() []Node {
	nodes := make([]Node, c.Nodes)
	for i := range nodes {
		nodes[i] = Node{cluster: c, Number: i + 1}
	}
	return nodes
}

// NodeNamed takes "n2" or "2".
func (c *Cluster) NodeNamed(name string) (Node, error) {
	for _, node := range c.AllNodes() {
		if name == node.Name() || "n"+name == node.Name() {
			return node, nil
		}
	}
	return Node{}, fmt.Errorf("no node %q; have n1 to n%d", name, c.Nodes)
}

func (n Node) Name() string { return fmt.Sprintf("n%d", n.Number) }

func (n Node) Dir(path ...string) string {
	return n.cluster.Dir(append([]string{"nodes", n.Name()}, path...)...)
}

func (n Node) Addr() netip.Addr { return addrAt(n.cluster.subnet, 10+n.Number) }

// Pods is the node's /24 of the pods' network.
func (n Node) Pods() netip.Prefix {
	return netip.PrefixFrom(addrAt(n.cluster.pods, n.Number<<8), 24)
}

// Group is a control group of the node; the node's own processes run in "runtime", pods in what the kubelet adds.
func (n Node) Group(path ...string) string {
	return n.cluster.Group(append([]string{n.Name()}, path...)...)
}

func (n Node) ContainerdSocket() string { return n.Dir("containerd.sock") }
func (n Node) Part(name string) string  { return name + "-" + n.Name() }

func addrAt(network netip.Prefix, offset int) netip.Addr {
	base := network.Addr().As4()
	value := uint32(base[0])<<24 | uint32(base[1])<<16 | uint32(base[2])<<8 | uint32(base[3])
	value += uint32(offset)
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)})
}
