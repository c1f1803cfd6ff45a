package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT}

// signal sends a signal to the first process of containers, on this node, all in the same moment, and prints that moment. Who runs
// it must see the node's processes: nobody inside a container can end its first process.
func signal(args []string) error {
	if len(args) < 2 {
		return errors.New("which signal (KILL, STOP or CONT), to which containers")
	}
	number, known := signals[args[0]]
	if !known {
		return fmt.Errorf("no signal %q", args[0])
	}
	var processes []int
	for _, container := range args[1:] {
		process, err := firstProcessOf(container)
		if err != nil {
			return err
		}
		processes = append(processes, process)
	}
	moment := time.Now()
	for _, process := range processes {
		if err := syscall.Kill(process, number); err != nil {
			return fmt.Errorf("process %d: %w", process, err)
		}
	}
	fmt.Println(moment.UnixNano())
	return nil
}

// firstProcessOf finds the process that has number 1 in a container.
func firstProcessOf(container string) (int, error) {
	if len(container) < 12 {
		return 0, fmt.Errorf("no id of a container: %q", container)
	}
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	var found []int
	for _, group := range groups {
		content, err := os.ReadFile(group)
		if err != nil || !strings.Contains(string(content), container) {
			continue // ended meanwhile, or another's
		}
		status, err := os.ReadFile(filepath.Join(filepath.Dir(group), "status"))
		if err != nil || !isFirst(string(status)) {
			continue
		}
		process, err := strconv.Atoi(filepath.Base(filepath.Dir(group)))
		if err != nil {
			return 0, err
		}
		found = append(found, process)
	}
	if len(found) != 1 {
		return 0, fmt.Errorf("%d processes are the first of container %s", len(found), container)
	}
	return found[0], nil
}

// isFirst reads /proc/PID/status: NSpid has the process's numbers, from the outermost namespace to its own.
func isFirst(status string) bool {
	for line := range strings.Lines(status) {
		if numbers, is := strings.CutPrefix(line, "NSpid:"); is {
			fields := strings.Fields(numbers)
			return len(fields) > 1 && fields[len(fields)-1] == "1"
		}
	}
	return false
}
