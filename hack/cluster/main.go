// Command cluster runs a real Kubernetes of several nodes on one Linux machine, without an image registry and without a
// container engine: the control plane's programs run on the host, and each node is a network and a mount namespace with a
// containerd, a kubelet and a kube-proxy of its own.
//
// Everything a cluster consists of is found again from three places only: its state folder (see layout.go), its control
// groups and its network devices, all named after the cluster. So any checkout can end what a killed run of another left.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	if err := rootCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func rootCommand() *cobra.Command {
	var options Options
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "A real Kubernetes of several nodes on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&options.Name, "name", fromEnv("CLUSTER_NAME", "redis-operator"), "the cluster's name")
	flags.IntVar(&options.Nodes, "nodes", intFromEnv("NODES", 3), "how many nodes, 1 to 6")
	flags.StringVar(&options.Subnet, "subnet", fromEnv("CLUSTER_SUBNET", "172.30.0.0/24"), "addresses of the nodes and the API server")
	flags.StringVar(&options.PodCIDR, "pod-cidr", fromEnv("CLUSTER_POD_CIDR", "10.244.0.0/16"), "addresses of the pods")
	flags.StringVar(&options.ServiceCIDR, "service-cidr", fromEnv("CLUSTER_SERVICE_CIDR", "10.96.0.0/16"), "addresses of the services")

	root.AddCommand(
		verb(&options, "up", "start the cluster and load the images; what a killed run left is cleaned first", up),
		verb(&options, "down", "stop the cluster and remove everything of it", down),
		verb(&options, "status", "say whether the cluster works", status),
		verb(&options, "env", "print the variables to use the cluster: eval $(bin/cluster env)", env),
		verbWithArgs(&options, "load <tar>...", "load images (docker archives) into every node", cobra.MinimumNArgs(1), load),
		verbOnNode(&options, "cut <node>", "unplug a node's network", cut),
		verbOnNode(&options, "heal <node>", "plug a node's network in again", heal),
		verbOnNode(&options, "crash <node>", "let a node die at once: unplugged, and everything on it killed", crash),
		verbOnNode(&options, "restore <node>", "start a crashed node again", restore),
		verbWithArgs(&options, "logs [part]", "print a part's log; without a part, list the parts", cobra.MaximumNArgs(1), logs),
	)
	return root
}

func verb(options *Options, use, short string, run func(*Cluster) error) *cobra.Command {
	return verbWithArgs(options, use, short, cobra.NoArgs, func(c *Cluster, _ []string) error { return run(c) })
}

func verbOnNode(options *Options, use, short string, run func(*Cluster, Node) error) *cobra.Command {
	return verbWithArgs(options, use, short, cobra.ExactArgs(1), func(c *Cluster, args []string) error {
		node, err := c.NodeNamed(args[0])
		if err != nil {
			return err
		}
		return run(c, node)
	})
}

func verbWithArgs(options *Options, use, short string, args cobra.PositionalArgs, run func(*Cluster, []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: args, RunE: func(command *cobra.Command, args []string) error {
		checkout, err := findCheckout()
		if err != nil {
			return err
		}
		// A cluster that exists keeps the addresses it was started with: only `up` of a new one looks at the flags.
		cluster, err := openCluster(*options, checkout)
		if err != nil {
			return err
		}
		switch command.Name() {
		case "env", "logs":
			return run(cluster, args)
		}
		if err := checkPlatform(); err != nil {
			return err
		}
		if command.Name() == "status" {
			return run(cluster, args)
		}
		unlock, err := lock(cluster.Name)
		if err != nil {
			return err
		}
		defer unlock()
		// Whoever held the lock may have started or removed the cluster meanwhile.
		if cluster, err = openCluster(*options, checkout); err != nil {
			return err
		}
		return run(cluster, args)
	}}
}

func fromEnv(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func intFromEnv(name string, otherwise int) int {
	var value int
	if _, err := fmt.Sscanf(os.Getenv(name), "%d", &value); err != nil {
		return otherwise
	}
	return value
}

func progress(format string, args ...any) {
	fmt.Printf("[cluster] "+strings.TrimSuffix(format, "\n")+"\n", args...)
}
