package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"
)

// openCluster takes a running cluster's options from its state folder, and those of a new one from the caller.
func openCluster(options Options, checkout string) (*Cluster, error) {
	wanted, err := NewCluster(options, checkout)
	if err != nil {
		return nil, err
	}
	stored, err := storedOptions(wanted.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return wanted, nil
	}
	if err != nil {
		return nil, err
	}
	return NewCluster(stored, checkout)
}

func optionsFile(name string) string { return filepath.Join(stateRoot, name, "cluster.json") }

func storedOptions(name string) (Options, error) {
	var options Options
	content, err := os.ReadFile(optionsFile(name))
	if err != nil {
		return options, err
	}
	if err := json.Unmarshal(content, &options); err != nil || options.Name != name {
		// A run was killed while it wrote the file, so nothing but the name is known of that cluster, nor was started.
		return options, fs.ErrNotExist
	}
	return options, nil
}

func (c *Cluster) store() error {
	for _, dir := range []string{"log", "run", "pki", "nodes"} {
		if err := os.MkdirAll(c.Dir(dir), 0o755); err != nil {
			return err
		}
	}
	content, err := json.MarshalIndent(c.Options, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(optionsFile(c.Name), content, 0o644)
}

// otherClusters are those of this machine that have a state folder.
func (c *Cluster) otherClusters() []*Cluster {
	files, _ := filepath.Glob(optionsFile("*"))
	var others []*Cluster
	for _, file := range files {
		options, err := storedOptions(filepath.Base(filepath.Dir(file)))
		if err != nil || options.Name == c.Name {
			continue
		}
		if other, err := NewCluster(options, c.Checkout); err == nil {
			others = append(others, other)
		}
	}
	return others
}

// lock keeps two commands from changing the same cluster at once. The kernel drops an abstract socket with its process,
// so a killed command leaves no lock behind.
func lock(name string) (unlock func(), err error) {
	address := "@" + stateRoot + "/" + name
	for waited := false; ; waited = true {
		listener, err := net.Listen("unix", address)
		if err == nil {
			return func() { _ = listener.Close() }, nil
		}
		if !errors.Is(err, errAddrInUse) {
			return nil, fmt.Errorf("lock the cluster %s: %w", name, err)
		}
		if !waited {
			progress("waiting for another command on the cluster %s", name)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// findCheckout is where the program lies (bin/cluster), or with `go run` the folder it is called from.
func findCheckout() (string, error) {
	if program, err := os.Executable(); err == nil {
		if checkout := filepath.Dir(filepath.Dir(program)); isCheckout(checkout) {
			return checkout, nil
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if isCheckout(dir) {
			return dir, nil
		}
	}
	return "", errors.New("not in a checkout of the operator: run bin/cluster from one")
}

func isCheckout(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "hack", "build-parts"))
	return err == nil
}
