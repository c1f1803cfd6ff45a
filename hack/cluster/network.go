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

// The nodes hang on a bridge in a network namespace of its own, the switch. On a bridge of the host itself the host's
// packet filter would apply to what nodes send each other, and Docker's, for one, lets nothing pass that it does not know.
// The host has a cable into the switch too, for the API server and the DNS.
const (
	switchBridge = "br0"
	switchToHost = "host"
)

// netns is a file that keeps a network namespace. It is not one of ip-netns(8), which would leave the machine with a
// mounted /run/netns.
type netns string

func (c *Cluster) switchNetns() netns { return netns(c.Dir("switch")) }
func (n Node) netns() netns           { return netns(n.Dir("netns")) }

func (n netns) create() error {
	if err := os.WriteFile(string(n), nil, 0o644); err != nil {
		return err
	}
	return runQuietly("", "unshare", "--net="+string(n), "true")
}

func (n netns) exists() bool {
	return slices.Contains(mountsBelow(filepath.Dir(string(n))), string(n))
}

// remove ends the namespace once no process is in it, with all its devices and the other ends of its cables.
func (n netns) remove() error {
	if n.exists() {
		if err := runQuietly("", "umount", "--no-mtab", string(n)); err != nil {
			return err
		}
	}
	// Removed as a file, it also goes from the nodes' mounts, which are copies of the host's.
	if err := os.Remove(string(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// enter is the beginning of a command that runs in the namespace.
func (n netns) enter() []string { return []string{"nsenter", "--net=" + string(n)} }

// ip runs several commands of ip(8) in the namespace, as one process.
func (n netns) ip(commands ...string) error { return ipBatch(n.enter(), commands) }

func hostIP(commands ...string) error { return ipBatch(nil, commands) }

func ipBatch(wrapper, commands []string) error {
	program := slices.Concat(wrapper, []string{"ip", "-batch", "-"})
	err := runQuietly(strings.Join(commands, "\n")+"\n", program[0], program[1:]...)
	if err != nil {
		return fmt.Errorf("%w, in:\n%s", err, strings.Join(commands, "\n"))
	}
	return nil
}

// runQuietly returns what a program printed only as part of an error.
func runQuietly(input, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.Stdin = strings.NewReader(input)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

func (c *Cluster) createSwitch() error {
	if err := c.switchNetns().create(); err != nil {
		return err
	}
	err := hostIP(
		fmt.Sprintf("link add %s type veth peer name %s netns %s", c.HostDevice(), switchToHost, c.switchNetns()),
		fmt.Sprintf("addr add %s/%d dev %s", c.HostAddr(), c.subnet.Bits(), c.HostDevice()),
		"link set "+c.HostDevice()+" up",
	)
	if err != nil {
		return err
	}
	return c.switchNetns().ip(
		"link add "+switchBridge+" type bridge",
		"link set "+switchBridge+" up",
		fmt.Sprintf("link set %s master %s up", switchToHost, switchBridge),
	)
}

// plugIn gives a node its network namespace: a cable to the switch, and a route to every other node's pods.
func (n Node) plugIn() error {
	c := n.cluster
	if err := n.netns().create(); err != nil {
		return err
	}
	err := c.switchNetns().ip(
		fmt.Sprintf("link add %s type veth peer name eth0 netns %s", n.Name(), n.netns()),
		fmt.Sprintf("link set %s master %s up", n.Name(), switchBridge),
	)
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
	if err := n.netns().ip(commands...); err != nil {
		return err
	}
	forward := append(n.netns().enter(), "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
	if err := runQuietly("", forward[0], forward[1:]...); err != nil {
		return err
	}
	return n.routeFromHost()
}

// routeFromHost lets the API server reach webhooks in the node's pods, and people on the host the pods themselves.
func (n Node) routeFromHost() error {
	return hostIP(fmt.Sprintf("route replace %s via %s dev %s", n.Pods(), n.Addr(), n.cluster.HostDevice()))
}

// setCable pulls the node's cable out of the switch, "down", or plugs it in, "up".
func (n Node) setCable(state string) error {
	return n.cluster.switchNetns().ip(fmt.Sprintf("link set %s %s", n.Name(), state))
}

func (n Node) isUnplugged() bool {
	if !n.cluster.switchNetns().exists() {
		return false
	}
	show := append(n.cluster.switchNetns().enter(), "ip", "-oneline", "link", "show", n.Name())
	output, err := exec.Command(show[0], show[1:]...).Output()
	return err != nil || !isUp(string(output))
}

// isUp reads a line of ip-link(8), as: 3: n1@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 ...
func isUp(link string) bool {
	_, rest, _ := strings.Cut(link, "<")
	flags, _, _ := strings.Cut(rest, ">")
	return slices.Contains(strings.Split(flags, ","), "UP")
}

// unplugForGood removes the node's namespace and cable. These end with each other, but not at once, so both are removed.
func (n Node) unplugForGood() error {
	if err := n.netns().remove(); err != nil {
		return err
	}
	if n.cluster.switchNetns().exists() {
		_ = n.cluster.switchNetns().ip("link delete " + n.Name()) // fails when the cable has gone already
	}
	return nil
}

// removeSwitch takes the host's cable and its routes to the pods with it.
func (c *Cluster) removeSwitch() error {
	if err := c.switchNetns().remove(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join("/sys/class/net", c.HostDevice())); err != nil {
		return nil //nolint:nilerr // It has gone with the switch.
	}
	if err := hostIP("link delete " + c.HostDevice()); err != nil {
		if _, stat := os.Stat(filepath.Join("/sys/class/net", c.HostDevice())); stat == nil {
			return err
		}
	}
	return nil
}
