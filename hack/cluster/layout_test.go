package main

import (
	"strings"
	"testing"
)

func defaults() Options {
	return Options{Name: "redis-operator", Nodes: 3, Subnet: "172.30.0.0/24", PodCIDR: "10.244.0.0/16", ServiceCIDR: "10.96.0.0/16"}
}

func testCluster(t *testing.T, change func(*Options)) *Cluster {
	t.Helper()
	options := defaults()
	if change != nil {
		change(&options)
	}
	cluster, err := NewCluster(options, "/checkout")
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

func TestAddressesFollowFromTheNetworks(t *testing.T) {
	c := testCluster(t, func(o *Options) {
		o.Subnet, o.PodCIDR, o.ServiceCIDR = "10.9.8.64/27", "10.240.0.0/20", "10.255.255.0/24"
	})
	node := c.AllNodes()[2]
	for what, got := range map[string]struct{ got, want string }{
		"host":             {c.HostAddr().String(), "10.9.8.65"},
		"node":             {node.Addr().String(), "10.9.8.77"},
		"pods of the node": {node.Pods().String(), "10.240.3.0/24"},
		"service":          {c.KubernetesService().String(), "10.255.255.1"},
	} {
		if got.got != got.want {
			t.Errorf("%s: %s, want %s", what, got.got, got.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"a name that is no host name":         {func(o *Options) { o.Name = "My_Cluster" }, "lower case"},
		"a name that is a path":               {func(o *Options) { o.Name = "../x" }, "lower case"},
		"too many nodes":                      {func(o *Options) { o.Nodes = 7 }, "1 to 6"},
		"no node":                             {func(o *Options) { o.Nodes = 0 }, "1 to 6"},
		"an address instead of a network":     {func(o *Options) { o.Subnet = "172.30.0.1/24" }, "--subnet"},
		"a network too small for the nodes":   {func(o *Options) { o.Subnet = "172.30.0.0/28" }, "--subnet"},
		"a network too small for their pods":  {func(o *Options) { o.PodCIDR = "10.244.0.0/22" }, "--pod-cidr"},
		"a network of the wrong family":       {func(o *Options) { o.ServiceCIDR = "fd00::/112" }, "--service-cidr"},
		"networks that overlap":               {func(o *Options) { o.ServiceCIDR = "10.244.128.0/24" }, "overlap"},
		"what is not a network":               {func(o *Options) { o.Subnet = "here" }, "--subnet"},
		"a name longer than a host name part": {func(o *Options) { o.Name = strings.Repeat("a", 41) }, "lower case"},
	} {
		t.Run(name, func(t *testing.T) {
			options := defaults()
			test.change(&options)
			if _, err := NewCluster(options, "/checkout"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// The kernel refuses longer names of devices, and two clusters may run side by side.
func TestDeviceNamesAreShortAndDifferPerCluster(t *testing.T) {
	seen := map[string]string{}
	for _, name := range []string{"redis-operator", "redis-operator-2", "redis-operato", "r", "a-very-long-name-of-a-cluster-as-ci-makes"[:40]} {
		c := testCluster(t, func(o *Options) { o.Name = name })
		device := c.HostDevice()
		if len(device) > 15 {
			t.Errorf("%s: device %q is longer than 15", name, device)
		}
		if seen[device] != "" {
			t.Errorf("%s and %s both have the device %q", name, seen[device], device)
		}
		seen[device] = name
		if socket := c.AllNodes()[0].ContainerdSocket(); len(socket) > 107 {
			t.Errorf("%s: the socket %q is longer than 107", name, socket)
		}
	}
}

func TestLoopbackAddressIsOneOfTheLoopbackNetworkAndNotTheUsualOne(t *testing.T) {
	for _, name := range []string{"redis-operator", "dev", "e2e", "a"} {
		addr := testCluster(t, func(o *Options) { o.Name = name }).LoopbackAddr()
		if !addr.IsLoopback() || addr.As4()[1] == 0 {
			t.Errorf("%s: %s", name, addr)
		}
	}
}

func TestNodesAreFoundByNameAndNumber(t *testing.T) {
	c := testCluster(t, nil)
	for name, want := range map[string]int{"n2": 2, "2": 2, "n3": 3, "n4": 0, "0": 0, "": 0, "nn2": 0} {
		node, err := c.NodeNamed(name)
		if node.Number != want || (err == nil) != (want > 0) {
			t.Errorf("%q: node %d, error %v; want node %d", name, node.Number, err, want)
		}
	}
}
