package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// runQuietly returns what a program printed only as part of an error.
func runQuietly(input, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.Stdin = strings.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// ipBatch runs several commands of ip(8) as one process, which a wrapper may put into another namespace.
func ipBatch(commands []string, wrapper ...string) error {
	program := append(wrapper, "ip", "-batch", "-")
	err := runQuietly(strings.Join(commands, "\n")+"\n", program[0], program[1:]...)
	if err != nil {
		return fmt.Errorf("%w, in:\n%s", err, strings.Join(commands, "\n"))
	}
	return nil
}

func deviceExists(name string) bool {
	_, err := os.Stat(filepath.Join("/sys/class/net", name))
	return err == nil
}

// netns is the file that keeps the node's network namespace. It is not one of ip-netns(8), which would leave the machine
// with a mounted /run/netns.
func (n Node) netns() string { return n.Dir("netns") }

func (n Node) inNetns() []string { return []string{"nsenter", "--net=" + n.netns()} }

func (c *Cluster) createBridge() error {
	return ipBatch([]string{
		"link add " + c.Bridge() + " type bridge",
		fmt.Sprintf("addr add %s/%d dev %s", c.HostAddr(), c.subnet.Bits(), c.Bridge()),
		"link set " + c.Bridge() + " up",
	})
}

// plugIn gives a node its network namespace: a cable to the bridge, and a route to every other node's pods.
func (n Node) plugIn() error {
	c := n.cluster
	if err := os.WriteFile(n.netns(), nil, 0o644); err != nil {
		return err
	}
	if err := runQuietly("", "unshare", "--net="+n.netns(), "true"); err != nil {
		return err
	}
	err := ipBatch([]string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns %s", n.Veth(), n.netns()),
		fmt.Sprintf("link set %s master %s up", n.Veth(), c.Bridge()),
	})
	if err != nil {
		return err
	}
	commands := []string{
		fmt.Sprintf("addr add %s/%d dev eth0", n.Addr(), c.subnet.Bits()),
		"link set lo up",
		"link set eth0 up",
		fmt.Sprintf("route add default via %s", c.HostAddr()),
	}
	for _, other := range c.AllNodes() {
		if other != n {
			commands = append(commands, fmt.Sprintf("route add %s via %s dev eth0", other.Pods(), other.Addr()))
		}
	}
	if err := ipBatch(commands, n.inNetns()...); err != nil {
		return err
	}
	forward := "echo 1 >/proc/sys/net/ipv4/ip_forward"
	if err := runQuietly("", "nsenter", "--net="+n.netns(), "sh", "-c", forward); err != nil {
		return err
	}
	return n.routeFromHost()
}

// routeFromHost lets the API server reach webhooks in the node's pods, and people on the host the pods themselves.
func (n Node) routeFromHost() error {
	return ipBatch([]string{fmt.Sprintf("route replace %s via %s dev %s", n.Pods(), n.Addr(), n.cluster.Bridge())})
}

func (n Node) setCable(state string) error {
	return ipBatch([]string{fmt.Sprintf("link set %s %s", n.Veth(), state)})
}

func (n Node) isUnplugged() bool {
	flags, err := os.ReadFile(filepath.Join("/sys/class/net", n.Veth(), "flags"))
	if err != nil {
		return true
	}
	var value int
	_, _ = fmt.Sscanf(string(flags), "0x%x", &value)
	const interfaceUp = 1
	return value&interfaceUp == 0
}

// unplugForGood removes the node's namespace and cable, which end with each other, but not at once.
func (n Node) unplugForGood() error {
	if deviceExists(n.Veth()) {
		if err := ipBatch([]string{"link delete " + n.Veth()}); err != nil && deviceExists(n.Veth()) {
			return err
		}
	}
	if slices.Contains(mountsBelow(n.Dir()), n.netns()) {
		if err := runQuietly("", "umount", "--no-mtab", n.netns()); err != nil {
			return err
		}
	}
	// Removed as a file, it also goes from the other nodes' mounts, which are copies of the host's.
	if err := os.Remove(n.netns()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeBridge takes the host's routes to the pods with it.
func (c *Cluster) removeBridge() error {
	if !deviceExists(c.Bridge()) {
		return nil
	}
	return ipBatch([]string{"link delete " + c.Bridge()})
}
