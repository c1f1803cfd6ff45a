package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var errAddrInUse error = syscall.EADDRINUSE

// Part is one of the programs that make up the cluster.
type Part struct {
	Name  string
	Group string // the control group it runs in
	Args  []string
}

// Process is a part that this run has started.
type Process struct {
	Part
	logFile string
	ended   chan struct{}
	result  error
}

// Identity tells a process from a later one that got the same number.
type Identity struct {
	PID   int
	Start string // clock ticks since the machine's start
	Boot  string // the machine's start
}

// Start runs a part in the background, in its control group, so that it outlives this program.
func (c *Cluster) Start(h Hierarchies, part Part) (*Process, error) {
	logFile := c.LogOf(part.Name)
	output, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = output.Close() }()

	// The shell joins the group first and then becomes the part, so that the part never runs outside of it.
	joining := []string{"-c", `echo $$ >"$0" && exec "$@"`, h.ProcsFile(part.Group)}
	command := exec.Command("/bin/sh", append(joining, part.Args...)...)
	command.Dir = "/"
	// Only what the parts need: a proxy for the outer world, for one, must not come between API server and kubelet.
	command.Env = []string{"PATH=" + c.Dir("programs") + ":/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin", "HOME=/root"}
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", part.Name, err)
	}
	process := &Process{Part: part, logFile: logFile, ended: make(chan struct{})}
	go func() {
		process.result = command.Wait()
		close(process.ended)
	}()
	return process, c.record(part.Name, command.Process.Pid)
}

func (c *Cluster) recordFile(part string) string { return c.Dir("run", part+".json") }

func (c *Cluster) record(part string, pid int) error {
	// Of a part that has ended already no time is known; whoever waits for the part reports that, with its log.
	identity, _ := identityOf(pid)
	content, err := json.Marshal(identity)
	if err != nil {
		return err
	}
	return os.WriteFile(c.recordFile(part), content, 0o644)
}

// recordedParts lists the parts that were started and not stopped since.
func (c *Cluster) recordedParts() []string {
	files, _ := filepath.Glob(c.recordFile("*"))
	parts := make([]string, len(files))
	for i, file := range files {
		parts[i] = strings.TrimSuffix(filepath.Base(file), ".json")
	}
	return parts
}

// Running returns the process number of a part, or 0.
func (c *Cluster) Running(part string) int {
	content, err := os.ReadFile(c.recordFile(part))
	if err != nil {
		return 0
	}
	var recorded Identity
	if json.Unmarshal(content, &recorded) != nil || recorded.PID <= 1 {
		return 0
	}
	if now, err := identityOf(recorded.PID); err != nil || now != recorded {
		return 0
	}
	return recorded.PID
}

// Stop asks a part to end, and makes it end after a while.
func (c *Cluster) Stop(part string, patience time.Duration) {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		pid := c.Running(part)
		if pid == 0 {
			break
		}
		if time.Since(began) < patience {
			_ = syscall.Kill(pid, syscall.SIGTERM)
		} else {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = os.Remove(c.recordFile(part))
}

func identityOf(pid int) (Identity, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Identity{}, err
	}
	start, err := startTime(string(stat))
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, err
	}
	return Identity{PID: pid, Start: start, Boot: strings.TrimSpace(string(boot))}, nil
}

// startTime is field 22 of /proc/PID/stat; the second, the program's name, may hold blanks and parentheses.
// A zombie counts as ended: only its number is left.
func startTime(stat string) (string, error) {
	end := strings.LastIndexByte(stat, ')')
	fields := strings.Fields(stat[end+1:])
	if end < 0 || len(fields) < 20 {
		return "", fmt.Errorf("not a process's stat: %q", stat)
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "", errors.New("ended")
	}
	if _, err := strconv.ParseUint(fields[19], 10, 64); err != nil {
		return "", err
	}
	return fields[19], nil
}

// Await polls until check succeeds. When one of the parts ends before, or time runs out, the error carries the part's log.
func Await(what string, timeout time.Duration, parts []*Process, check func() error) error {
	var last error
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for _, part := range parts {
			select {
			case <-part.ended:
				return part.failure(fmt.Sprintf("%s ended while waiting for %s (%v)", part.Name, what, part.result))
			default:
			}
		}
		if last = check(); last == nil {
			return nil
		}
	}
	message := fmt.Sprintf("no %s after %s: %v", what, timeout, last)
	if len(parts) == 0 {
		return errors.New(message)
	}
	return parts[0].failure(message)
}

func (p *Process) failure(message string) error {
	return fmt.Errorf("%s\nlast lines of %s:\n%s", message, p.logFile, lastLines(p.logFile, 30))
}

func lastLines(file string, count int) string {
	content, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return "    " + strings.Join(lines[max(0, len(lines)-count):], "\n    ")
}
