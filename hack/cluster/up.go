package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// up makes the cluster work, whatever it finds: nothing, a cluster that works, one with broken nodes, or remains.
func up(c *Cluster) error {
	began := time.Now()
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	if c.exists() {
		err := c.controlPlaneWorks()
		if err == nil {
			return c.mend(h)
		}
		progress("the cluster %s does not work (%v): starting anew", c.Name, err)
	}
	if err := clean(c, h); err != nil {
		return err
	}
	if err := c.preflight(); err != nil {
		return err
	}
	if err := c.store(); err != nil {
		return err
	}
	if err := c.start(h); err != nil {
		return fmt.Errorf("%w\nthe start failed; `cluster down` removes what is left of it, and so does the next `cluster up`", err)
	}
	if err := os.WriteFile(c.startedFile(), nil, 0o644); err != nil {
		return err
	}
	progress("%s is up with %d nodes after %.1f s; to use it: eval $(bin/cluster env)", c.Name, c.Nodes, time.Since(began).Seconds())
	return nil
}

func (c *Cluster) exists() bool {
	_, err := os.Stat(c.Dir())
	return err == nil
}

// start takes the control plane and the nodes' runtimes up side by side: neither needs the other yet.
func (c *Cluster) start(h Hierarchies) error {
	if err := c.linkPrograms(); err != nil {
		return err
	}
	if err := c.writePauseImage(); err != nil {
		return err
	}
	if err := c.createPKI(); err != nil {
		return err
	}
	if err := c.createSwitch(); err != nil {
		return err
	}
	var controlPlane []*Process
	runtimes := make([]*Process, c.Nodes)
	err := together(
		func() (err error) { controlPlane, err = c.startControlPlane(h); return err },
		func() error {
			return onEach(c.AllNodes(), func(node Node) (err error) {
				runtimes[node.Number-1], err = node.startRuntime(h)
				return err
			})
		},
	)
	if err != nil {
		return err
	}
	api, err := c.API()
	if err != nil {
		return err
	}
	return together(
		func() error { return c.awaitControlPlane(controlPlane) },
		func() error { return c.loadAll(c.AllNodes()) },
		func() error {
			return onEach(c.AllNodes(), func(node Node) error {
				kubelet, err := node.startKubelet(h)
				if err != nil {
					return err
				}
				return node.awaitReady(append(kubelet, runtimes[node.Number-1]), func() error { return api.NodeReady(node.Name()) })
			})
		},
	)
}

func (c *Cluster) loadAll(nodes []Node) error {
	brought, err := c.loadImages(append(c.imagesOfCheckout(), c.pauseArchive()), nodes)
	if err == nil && brought > 0 {
		progress("loaded %d image archives", brought)
	}
	return err
}

// mend starts dead nodes of a working cluster and plugs in unplugged ones, and so keeps what runs on the others.
func (c *Cluster) mend(h Hierarchies) error {
	var dead []Node
	for _, node := range c.AllNodes() {
		switch {
		case !node.isRunning():
			progress("starting the node %s again", node.Name())
			dead = append(dead, node)
		case node.isUnplugged():
			if err := heal(c, node); err != nil {
				return err
			}
		}
	}
	if err := onEach(dead, func(node Node) error { return node.restart(h) }); err != nil {
		return fmt.Errorf("%w\n`cluster down` and `cluster up` start anew", err)
	}
	if err := c.loadAll(c.AllNodes()); err != nil {
		return err
	}
	api, err := c.API()
	if err != nil {
		return err
	}
	alive := time.Now().Add(-signOfLife)
	for _, node := range c.AllNodes() {
		err := Await("readiness of the node "+node.Name(), time.Minute, nil, func() error { return api.NodeReadySince(node.Name(), alive) })
		if err != nil {
			return fmt.Errorf("%w\nsee `cluster logs %s`; `cluster down` and `cluster up` start anew", err, node.Part("kubelet"))
		}
	}
	progress("%s is up with %d nodes", c.Name, c.Nodes)
	return nil
}

// startedFile exists once a start has come to its end.
func (c *Cluster) startedFile() string { return c.Dir("started") }

func (c *Cluster) controlPlaneWorks() error {
	if _, err := os.Stat(c.startedFile()); err != nil {
		return errors.New("its start never came to an end")
	}
	for _, part := range c.controlPlaneParts() {
		if c.Running(part) == 0 {
			return fmt.Errorf("%s has ended", part)
		}
	}
	api, err := c.API()
	if err != nil {
		return err
	}
	return api.Ready()
}

// together runs functions at once, and reports all their errors.
func together(tasks ...func() error) error {
	problems := make([]error, len(tasks))
	var group sync.WaitGroup
	for i, task := range tasks {
		group.Go(func() { problems[i] = task() })
	}
	group.Wait()
	return errors.Join(problems...)
}
