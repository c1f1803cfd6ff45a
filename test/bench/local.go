package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// localCluster is what can be done to the machine's own cluster (bin/cluster) beyond what an API server offers.
type localCluster struct {
	name string
	// dir is its state folder; the kubeconfig is in it.
	dir string
}

// localClusterOf finds the local cluster to which a kubeconfig belongs; nil if it is another one.
func localClusterOf(kubeconfig string) *localCluster {
	dir := filepath.Dir(kubeconfig)
	if _, err := os.Stat(filepath.Join(dir, "cluster.json")); kubeconfig == "" || err != nil {
		return nil
	}
	if _, err := os.Stat("bin/cluster"); err != nil {
		return nil
	}
	return &localCluster{name: filepath.Base(dir), dir: dir}
}

// run runs a verb of bin/cluster, in a group of its own: an interruption from the keyboard must not end it half-way.
func (l *localCluster) run(args ...string) error {
	command := exec.Command("bin/cluster", append([]string{"--name", l.name}, args...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("bin/cluster %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// mend undoes what a killed measurement left.
func (l *localCluster) mend() error {
	if err := l.pauseAPI(false); err != nil {
		return err
	}
	if err := l.run("up"); err != nil { // starts dead nodes, and plugs in unplugged ones
		return err
	}
	namespaces, err := filepath.Glob(filepath.Join(l.dir, "nodes", "*", "netns"))
	if err != nil {
		return err
	}
	for _, namespace := range namespaces {
		if err := l.unfilter(filepath.Base(filepath.Dir(namespace))); err != nil {
			return err
		}
	}
	return nil
}

// pauseAPI stops the API server's process, or lets it go on. Its connections stay open and nothing answers, which is worse for
// its clients than one that is gone.
func (l *localCluster) pauseAPI(paused bool) error {
	content, err := os.ReadFile(filepath.Join(l.dir, "run", "apiserver.json"))
	if err != nil {
		return err
	}
	var recorded struct{ PID int }
	if err := json.Unmarshal(content, &recorded); err != nil {
		return err
	}
	program, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", recorded.PID))
	if err == nil && !bytes.Contains(program, []byte("kube-apiserver")) {
		err = fmt.Errorf("process %d is no API server: %q", recorded.PID, program)
	}
	if err != nil {
		return err
	}
	signal := syscall.SIGCONT
	if paused {
		signal = syscall.SIGSTOP
	}
	return syscall.Kill(recorded.PID, signal)
}

// filter drops on a node what goes from or to one pod, but for its peers, and what goes to the API server's host.
func (l *localCluster) filter(node, pod string, peers []string, apiHost string) error {
	rules := fmt.Sprintf(`table inet bench {
	chain forward {
		type filter hook forward priority -200
		ip saddr %[1]s ip daddr { %[2]s } accept
		ip daddr %[1]s ip saddr { %[2]s } accept
		ip saddr %[1]s drop
		ip daddr %[1]s drop
		ip saddr %[3]s drop
		ip daddr %[3]s drop
	}
	chain input {
		type filter hook input priority -200
		ip saddr %[3]s drop
	}
	chain output {
		type filter hook output priority -200
		ip daddr %[3]s drop
	}
}
`, pod, strings.Join(peers, ", "), apiHost)
	return l.nft(node, rules)
}

// unfilter drops nothing any more; adding the table first makes it no error if there is none.
func (l *localCluster) unfilter(node string) error {
	return l.nft(node, "add table inet bench\ndelete table inet bench\n")
}

func (l *localCluster) nft(node, rules string) error {
	command := exec.Command("nsenter", "--net="+filepath.Join(l.dir, "nodes", node, "netns"), "nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("filter on %s: %w: %s", node, err, output)
	}
	return nil
}

// loadUnderSecondName brings an image to all nodes under another name: the same content, and for Kubernetes another image.
func (l *localCluster) loadUnderSecondName(archive, reference string) error {
	content, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	renamed, err := withReference(content, reference)
	if err != nil {
		return fmt.Errorf("%s: %w", archive, err)
	}
	file, err := os.CreateTemp("", "bench-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = file.Write(renamed)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return l.run("load", file.Name())
}

// withReference gives the only image of a docker archive another name.
func withReference(archive []byte, reference string) ([]byte, error) {
	var out bytes.Buffer
	writer, reader, named := tar.NewWriter(&out), tar.NewReader(bytes.NewReader(archive)), false
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return nil, err
		}
		if header.Name == "manifest.json" {
			var images []map[string]any
			if err := json.Unmarshal(content, &images); err != nil {
				return nil, err
			}
			if len(images) != 1 {
				return nil, fmt.Errorf("%d images in place of one", len(images))
			}
			images[0]["RepoTags"] = []string{reference}
			if content, err = json.Marshal(images); err != nil {
				return nil, err
			}
			header.Size, named = int64(len(content)), true
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(content); err != nil {
			return nil, err
		}
	}
	if !named {
		return nil, errors.New("no manifest.json")
	}
	err := writer.Close()
	return out.Bytes(), err
}
