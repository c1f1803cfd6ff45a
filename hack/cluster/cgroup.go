package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Hierarchies are the machine's trees of control groups: one with version 2, one per controller with version 1.
//
// The cluster's groups are the same in each: cluster-<name>/control-plane, cluster-<name>/n1/runtime for the node's own
// processes, and beside it what the kubelet makes for the pods. Shims and containers are born in the group of their
// containerd, so that every process of a cluster is found in one of these.
type Hierarchies struct {
	Mounts []string
	// Tracking is the one in which the cluster's own processes are put.
	Tracking string
	Unified  bool
}

func findHierarchies() (Hierarchies, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return Hierarchies{}, err
	}
	h := parseHierarchies(string(mountinfo))
	if len(h.Mounts) == 0 {
		return h, errors.New("no control groups are mounted under /sys/fs/cgroup")
	}
	return h, nil
}

// parseHierarchies reads /proc/self/mountinfo (man 5 proc).
func parseHierarchies(mountinfo string) Hierarchies {
	var h Hierarchies
	versionOne := false
	for line := range strings.Lines(mountinfo) {
		before, after, _ := strings.Cut(line, " - ")
		left, right := strings.Fields(before), strings.Fields(after)
		if len(left) < 5 || len(right) < 3 || !strings.HasPrefix(right[0], "cgroup") {
			continue
		}
		mount, controllers := left[4], strings.Split(right[2], ",")
		if slices.Contains(h.Mounts, mount) {
			continue
		}
		h.Mounts = append(h.Mounts, mount)
		if right[0] == "cgroup" {
			versionOne = true
			if h.Tracking == "" || slices.Contains(controllers, "pids") {
				h.Tracking = mount
			}
		}
	}
	// With controllers in version 1, a version 2 tree beside them has none, and only has to have the groups too.
	if !versionOne && len(h.Mounts) > 0 {
		h.Unified, h.Tracking = true, h.Mounts[0]
	}
	return h
}

// Create makes a group, and the groups above it, in every hierarchy.
func (h Hierarchies) Create(group string) error {
	for _, mount := range h.Mounts {
		parent := mount
		for _, name := range strings.Split(group, "/") {
			if err := h.prepareChildren(parent); err != nil {
				return err
			}
			child := filepath.Join(parent, name)
			if err := os.Mkdir(child, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
			if err := inheritCpuset(parent, child); err != nil {
				return err
			}
			parent = child
		}
	}
	return nil
}

// controllers are what a kubelet asks for, as far as the machine has it.
var controllers = []string{"cpu", "cpuset", "memory", "pids", "hugetlb", "io"}

// prepareChildren lets a version 2 group's children have the controllers that the group itself has.
func (h Hierarchies) prepareChildren(group string) error {
	if !h.Unified {
		return nil
	}
	available, err := os.ReadFile(filepath.Join(group, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range strings.Fields(string(available)) {
		if !slices.Contains(controllers, controller) {
			continue
		}
		err := os.WriteFile(filepath.Join(group, "cgroup.subtree_control"), []byte("+"+controller), 0o644)
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("the control group %s holds processes, so it cannot pass on its controllers: "+
				"move them into a group below it first", group)
		}
		if err != nil {
			return fmt.Errorf("pass on the controller %s of %s: %w", controller, group, err)
		}
	}
	return nil
}

// inheritCpuset fills in what version 1 leaves empty; no process can join a group without CPUs.
func inheritCpuset(parent, child string) error {
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		own, err := os.ReadFile(filepath.Join(child, file))
		if err != nil || len(strings.TrimSpace(string(own))) > 0 {
			continue
		}
		inherited, err := os.ReadFile(filepath.Join(parent, file))
		if err != nil {
			continue
		}
		if len(strings.TrimSpace(string(inherited))) == 0 {
			continue // version 2: empty means that the parent's apply
		}
		if err := os.WriteFile(filepath.Join(child, file), inherited, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// ProcsFile is where a process writes its number to join a group.
func (h Hierarchies) ProcsFile(group string) string {
	return filepath.Join(h.Tracking, group, "cgroup.procs")
}

// Processes lists those in a group and in all groups below it.
func (h Hierarchies) Processes(group string) []int {
	var pids []int
	for _, mount := range h.Mounts {
		walkGroups(filepath.Join(mount, group), func(dir string) {
			content, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
			for _, field := range strings.Fields(string(content)) {
				if pid, err := strconv.Atoi(field); err == nil && pid > 1 && !slices.Contains(pids, pid) {
					pids = append(pids, pid)
				}
			}
		})
	}
	return pids
}

// Kill ends every process in a group and below, also those that start meanwhile, and waits until they are gone.
func (h Hierarchies) Kill(group string) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		pids := h.Processes(group)
		if len(pids) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of the control group %s do not end", pids, group)
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Remove deletes a group without processes, and all groups below it.
func (h Hierarchies) Remove(group string) error {
	var problems []error
	for _, mount := range h.Mounts {
		walkGroups(filepath.Join(mount, group), func(dir string) {
			if err := removeGroup(dir); err != nil {
				problems = append(problems, err)
			}
		})
	}
	return errors.Join(problems...)
}

// removeGroup tries for a while: a process that has just died still counts for a moment.
func removeGroup(dir string) error {
	var err error
	for range 100 {
		if err = syscall.Rmdir(dir); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("remove the control group %s: %w", dir, err)
}

// walkGroups visits the groups below one, then the group itself.
func walkGroups(dir string, visit func(dir string)) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if entry.IsDir() {
			walkGroups(filepath.Join(dir, entry.Name()), visit)
		}
	}
	visit(dir)
}
