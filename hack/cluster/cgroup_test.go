package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

const versionOne = `30 24 0:26 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
32 30 0:28 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids
33 30 0:29 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
34 30 0:30 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
35 24 0:31 / /tmp/cgroup rw - ext4 /dev/vda rw
`

const versionTwo = `30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
31 24 0:27 / /proc rw - proc proc rw
`

func TestHierarchiesOfVersionOne(t *testing.T) {
	h := parseHierarchies(versionOne)
	want := []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/pids", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}
	if !slices.Equal(h.Mounts, want) || h.Unified || h.Tracking != "/sys/fs/cgroup/pids" {
		t.Errorf("got %+v", h)
	}
}

func TestHierarchyOfVersionTwo(t *testing.T) {
	h := parseHierarchies(versionTwo)
	if !slices.Equal(h.Mounts, []string{"/sys/fs/cgroup"}) || !h.Unified || h.Tracking != "/sys/fs/cgroup" {
		t.Errorf("got %+v", h)
	}
	if got := h.ProcsFile("cluster-x/n1/runtime"); got != "/sys/fs/cgroup/cluster-x/n1/runtime/cgroup.procs" {
		t.Errorf("got %s", got)
	}
}

func TestNoHierarchy(t *testing.T) {
	if h := parseHierarchies("31 24 0:27 / /proc rw - proc proc rw\n"); len(h.Mounts) > 0 || h.Unified {
		t.Errorf("got %+v", h)
	}
}

// A version 2 group only gets the controllers that each group above it passes on.
func TestCreatePassesOnTheControllersOfVersionTwo(t *testing.T) {
	root := t.TempDir()
	for _, group := range []string{"", "cluster-x", "cluster-x/n1"} {
		writeGroupFile(t, filepath.Join(root, group, "cgroup.controllers"), "cpuset memory pids rdma\n")
	}
	h := Hierarchies{Mounts: []string{root}, Tracking: root, Unified: true}
	if err := h.Create("cluster-x/n1/runtime"); err != nil {
		t.Fatal(err)
	}
	for _, group := range []string{"", "cluster-x", "cluster-x/n1"} {
		content, err := os.ReadFile(filepath.Join(root, group, "cgroup.subtree_control"))
		if err != nil || string(content) != "+pids" { // a plain file keeps the last of the three
			t.Errorf("group %q passes on %q, error %v", group, content, err)
		}
	}
	// The group that holds processes must not pass on any.
	if _, err := os.Stat(filepath.Join(root, "cluster-x/n1/runtime/cgroup.subtree_control")); err == nil {
		t.Error("the group of the processes passes on controllers")
	}
}

// A version 1 group starts without CPUs, and no process can join it then.
func TestCreateCopiesTheCPUsOfVersionOne(t *testing.T) {
	root := t.TempDir()
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		writeGroupFile(t, filepath.Join(root, file), "0-3\n")
		writeGroupFile(t, filepath.Join(root, "cluster-x", file), "\n")
		writeGroupFile(t, filepath.Join(root, "cluster-x", "n1", file), "\n")
	}
	h := Hierarchies{Mounts: []string{root}, Tracking: root}
	if err := h.Create("cluster-x/n1"); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "cluster-x/n1/cpuset.cpus"))
	if err != nil || string(content) != "0-3\n" {
		t.Errorf("CPUs %q, error %v", content, err)
	}
}

func TestProcessesAreThoseOfAllGroupsBelow(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	writeGroupFile(t, filepath.Join(first, "cluster-x/n1/cgroup.procs"), "100\n101\n")
	writeGroupFile(t, filepath.Join(first, "cluster-x/n1/kubepods/pod1/cgroup.procs"), "102\n")
	writeGroupFile(t, filepath.Join(second, "cluster-x/n1/cgroup.procs"), "101\n103\n")
	writeGroupFile(t, filepath.Join(first, "cluster-xy/cgroup.procs"), "104\n")
	writeGroupFile(t, filepath.Join(first, "cgroup.procs"), "105\n")
	pids := Hierarchies{Mounts: []string{first, second}}.Processes("cluster-x")
	slices.Sort(pids)
	if want := []int{100, 101, 102, 103}; !slices.Equal(pids, want) {
		t.Errorf("got %v, want %v", pids, want)
	}
}

func writeGroupFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}
