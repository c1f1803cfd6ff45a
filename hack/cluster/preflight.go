package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
)

// packages of Debian that bring the programs that are not built from Go modules.
var packages = map[string]string{
	"runc": "runc", "iptables": "iptables", "nft": "nftables", "ip": "iproute2",
	"mount": "mount", "umount": "mount", "nsenter": "util-linux", "unshare": "util-linux",
}

func checkPlatform() error {
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		return errors.New("a local cluster needs root on Linux: run this as root there, " +
			"or set KUBECONFIG to a cluster that you have")
	}
	return nil
}

// preflight finds out what would make a start fail for a reason that no part's log explains.
func (c *Cluster) preflight() error {
	if err := installPrograms(missingPackages()); err != nil {
		return err
	}
	if err := c.checkAddresses(); err != nil {
		return err
	}
	return raiseInotifyLimit()
}

// packageNames lists each package once.
func packageNames() []string {
	return slices.Compact(slices.Sorted(maps.Values(packages)))
}

func missingPackages() []string {
	var missing []string
	for program, name := range packages {
		if _, err := exec.LookPath(program); err != nil && !slices.Contains(missing, name) {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

func installPrograms(names []string) error {
	if len(names) == 0 {
		return nil
	}
	wanted := strings.Join(names, " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("missing on this machine: install what Debian calls %s", wanted)
	}
	progress("installing Debian packages: %s", wanted)
	install := append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "--no-install-recommends"}, names...)
	if runQuietly("", "env", install...) == nil {
		return nil
	}
	err := runQuietly("", "apt-get", "update")
	if err == nil {
		err = runQuietly("", "env", install...)
	}
	if err != nil {
		return fmt.Errorf("could not install the Debian packages %s; install them by hand: %w", wanted, err)
	}
	return nil
}

// linkPrograms gives the cluster its programs, as second names of the built files where the file system allows it.
func (c *Cluster) linkPrograms() error {
	if err := os.MkdirAll(c.Dir("programs"), 0o755); err != nil {
		return err
	}
	programs := map[string]string{}
	for _, name := range []string{
		"etcd", "coredns", "containerd", "containerd-shim-runc-v2", "ctr", "ptp", "host-local", "loopback", "portmap", "pause",
	} {
		programs[name] = name
	}
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy"} {
		programs[name] = "kube"
	}
	for name, built := range programs {
		err := linkOrCopy(c.builtProgram(built), c.Program(name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: run hack/build-parts", c.builtProgram(built))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o755)
}

// checkAddresses refuses networks that the machine or another cluster uses already.
func (c *Cluster) checkAddresses() error {
	for _, other := range c.otherClusters() {
		if c.subnet.Overlaps(other.subnet) || c.pods.Overlaps(other.pods) || c.subnet.Overlaps(other.pods) || c.pods.Overlaps(other.subnet) {
			return fmt.Errorf("the cluster %s uses %s and %s: choose others with CLUSTER_SUBNET and CLUSTER_POD_CIDR",
				other.Name, other.Subnet, other.PodCIDR)
		}
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, device := range interfaces {
		addrs, err := device.Addrs()
		if err != nil {
			continue // it has gone meanwhile
		}
		for _, addr := range addrs {
			used, err := netip.ParsePrefix(addr.String())
			if err != nil {
				continue
			}
			for _, wanted := range []netip.Prefix{c.subnet, c.pods, c.services} {
				if wanted.Overlaps(used.Masked()) {
					return fmt.Errorf("this machine uses %s on %s, which overlaps %s: choose another network with "+
						"CLUSTER_SUBNET, CLUSTER_POD_CIDR or CLUSTER_SERVICE_CIDR", used, device.Name, wanted)
				}
			}
		}
	}
	return nil
}
