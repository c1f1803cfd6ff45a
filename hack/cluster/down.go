package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

func down(c *Cluster) error {
	h, err := findHierarchies()
	if err != nil {
		return err
	}
	existed := c.exists()
	if err := clean(c, h); err != nil {
		return err
	}
	if existed {
		progress("%s is down, and nothing of it is left; Debian packages that it installed stay (%s)", c.Name, strings.Join(packageNames(), ", "))
	} else {
		progress("%s was not up", c.Name)
	}
	return nil
}

// clean removes everything of the cluster, in whatever state it is. It relies on nothing that a run writes on its way:
// groups, devices and folders follow from the name alone, and all numbers of nodes are looked at.
func clean(c *Cluster, h Hierarchies) error {
	if c.exists() {
		progress("stopping what runs of %s", c.Name)
	}
	if err := h.Kill(c.Group()); err != nil {
		return err
	}
	// A part that was killed before it joined its group.
	for _, part := range c.recordedParts() {
		c.Stop(part, 0)
	}
	for number := 1; number <= maxNodes; number++ {
		if err := (Node{cluster: c, Number: number}).unplugForGood(); err != nil {
			return err
		}
	}
	if err := c.removeSwitch(); err != nil {
		return err
	}
	if err := h.Remove(c.Group()); err != nil {
		return err
	}
	return c.removeState()
}

// removeState refuses to delete through a mount: below it may lie what is not the cluster's.
func (c *Cluster) removeState() error {
	for _, mount := range mountsBelow(c.Dir()) {
		if err := runQuietly("", "umount", "--no-mtab", "--lazy", mount); err != nil {
			return err
		}
	}
	if left := mountsBelow(c.Dir()); len(left) > 0 {
		return fmt.Errorf("still mounted: %s", strings.Join(left, ", "))
	}
	if err := os.RemoveAll(c.Dir()); err != nil {
		return err
	}
	if err := restoreInotifyLimit(); err != nil {
		return err
	}
	_ = os.Remove(stateRoot) // unless another cluster's state is there
	return nil
}

func mountsBelow(dir string) []string {
	content, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	return mountPointsBelow(dir, string(content))
}

// mountPointsBelow returns the innermost first, for they have to go first.
func mountPointsBelow(dir, mountinfo string) []string {
	var points []string
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	slices.Reverse(points)
	return points
}

var errNotUp = errors.New("not up: run `cluster up`")
