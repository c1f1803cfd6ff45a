package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A node's kubelet, containerd and proxy watch dozens of files, each with an inotify instance. Of these a user has 128 by
// default, which two clusters use up; a kubelet then ends with "too many open files".
const (
	inotifyLimit   = "/proc/sys/fs/inotify/max_user_instances"
	inotifyWanted  = 2048
	inotifyFileOld = "inotify-limit-before"
)

// raiseInotifyLimit remembers the machine's own limit, for the last cluster to restore.
func raiseInotifyLimit() error {
	before, err := os.ReadFile(inotifyLimit)
	if err != nil {
		return err
	}
	limit, err := strconv.Atoi(strings.TrimSpace(string(before)))
	if err != nil || limit >= inotifyWanted {
		return err
	}
	if err := os.MkdirAll(stateRoot, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(stateRoot, inotifyFileOld), before, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(inotifyLimit, []byte(strconv.Itoa(inotifyWanted)), 0o644); err != nil {
		return fmt.Errorf("raise the limit of inotify instances from %d to %d: %w", limit, inotifyWanted, err)
	}
	return nil
}

// restoreInotifyLimit does nothing while another cluster needs the higher one.
func restoreInotifyLimit() error {
	file := filepath.Join(stateRoot, inotifyFileOld)
	before, err := os.ReadFile(file)
	if err != nil {
		return nil //nolint:nilerr // It was never raised.
	}
	entries, err := os.ReadDir(stateRoot)
	if err != nil || len(entries) > 1 {
		return err
	}
	if err := os.WriteFile(inotifyLimit, before, 0o644); err != nil {
		return err
	}
	return os.Remove(file)
}
