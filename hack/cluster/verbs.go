package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func (c *Cluster) controlPlaneParts() []string {
	return []string{"etcd", "apiserver", "controller-manager", "scheduler", "coredns"}
}

func (c *Cluster) mustBeUp() error {
	if !c.exists() {
		return fmt.Errorf("%s is %w", c.Name, errNotUp)
	}
	return nil
}

// signOfLife is how long ago a kubelet that works may have been heard of: it reports every ten seconds.
const signOfLife = 25 * time.Second

// status prints a line per part and node; it fails unless all of them work.
func status(c *Cluster) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	var problems []error
	for _, part := range c.controlPlaneParts() {
		state := "running"
		if c.Running(part) == 0 {
			state = "not running"
			problems = append(problems, errors.New(part+" is not running"))
		}
		fmt.Printf("%-20s %s\n", part, state)
	}
	api, err := c.API()
	if err != nil {
		return err
	}
	for _, node := range c.AllNodes() {
		state := "ready"
		switch err := api.NodeReadySince(node.Name(), time.Now().Add(-signOfLife)); {
		case !node.isRunning():
			state = "dead: `cluster restore " + node.Name() + "` starts it"
		case node.isUnplugged():
			state = "unplugged: `cluster heal " + node.Name() + "` plugs it in"
		case err != nil:
			state = "not ready: " + err.Error()
		}
		if state != "ready" {
			problems = append(problems, fmt.Errorf("%s is %s", node.Name(), state))
		}
		fmt.Printf("%-20s %s\n", node.Name(), state)
	}
	return errors.Join(problems...)
}

// env also works before the cluster is up: what it prints follows from the name. It then says so beside it, since whoever types
// it means to use the cluster.
func env(c *Cluster) error {
	fmt.Fprint(os.Stderr, c.warnIfDown())
	fmt.Printf("export KUBECONFIG=%s\nexport PATH=%s:$PATH\nexport AUDIT_LOG=%s\n",
		c.Kubeconfig(), filepath.Join(c.Checkout, "bin"), c.AuditLog())
	if os.Getenv("HTTPS_PROXY") != "" || os.Getenv("https_proxy") != "" {
		fmt.Printf("export NO_PROXY=%s,$NO_PROXY\n", c.HostAddr())
	}
	return nil
}

// warnIfDown is empty if the cluster runs. It takes no root and no request, for scripts ask often.
func (c *Cluster) warnIfDown() string {
	if c.Running("apiserver") != 0 {
		return ""
	}
	return fmt.Sprintf("cluster: %s is not up: make cluster-up starts it\n", c.Name)
}

func load(c *Cluster, files []string) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	var running []Node
	for _, node := range c.AllNodes() {
		if node.isRunning() {
			running = append(running, node)
		}
	}
	brought, err := c.loadImages(files, running)
	if err != nil {
		return err
	}
	progress("loaded %d image archives into %d nodes, %d were there", brought, len(running), len(files)-brought)
	return nil
}

func cut(c *Cluster, node Node) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	return node.setCable("down")
}

func heal(c *Cluster, node Node) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	if !node.isRunning() {
		return fmt.Errorf("%s is dead: `cluster restore %s` starts it", node.Name(), node.Name())
	}
	if err := node.setCable("up"); err != nil {
		return err
	}
	return node.routeFromHost()
}

func crash(c *Cluster, node Node) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	return node.kill(h)
}

func restore(c *Cluster, node Node) error {
	if err := c.mustBeUp(); err != nil {
		return err
	}
	if node.isRunning() {
		return heal(c, node)
	}
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	if err := node.restart(h); err != nil {
		return err
	}
	return c.loadAll([]Node{node})
}

func logs(c *Cluster, args []string) error {
	files, _ := filepath.Glob(c.LogOf("*"))
	if len(args) == 0 {
		for _, file := range files {
			fmt.Println(strings.TrimSuffix(filepath.Base(file), ".log"))
		}
		return nil
	}
	content, err := os.ReadFile(c.LogOf(args[0]))
	if err != nil {
		return fmt.Errorf("no log of a part %q: `cluster logs` lists them", args[0])
	}
	_, err = os.Stdout.Write(content)
	return err
}
