//go:build integration

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// process is one run of a pod's container.
type process struct {
	cmd     *exec.Cmd
	id      string
	started time.Time
	// ended is closed once the process is gone; how is then how it ended.
	ended chan struct{}
	how   corev1.ContainerStateTerminated
}

// volumes writes what the pod's volumes hold into dir and tells which folder is mounted where.
//
// ConfigMaps and Secrets are read from the API server as they are now. A real kubelet may be a minute behind.
func (p *playedPod) volumes(ctx context.Context, pod *corev1.Pod) (map[string]string, error) {
	folders := map[string]string{}
	for i := range pod.Spec.Volumes {
		volume := &pod.Spec.Volumes[i]
		folder := filepath.Join(p.dir, volume.Name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return nil, err
		}
		folders[volume.Name] = folder
		switch {
		case volume.EmptyDir != nil:
		case volume.Projected != nil:
			for j := range volume.Projected.Sources {
				files, err := p.project(ctx, pod, &volume.Projected.Sources[j])
				if err != nil {
					return nil, err
				}
				if err := writeFiles(folder, files); err != nil {
					return nil, err
				}
			}
		default:
			return nil, fmt.Errorf("volume %s of pod %s is of a kind that this kubelet does not know", volume.Name, pod.Name)
		}
	}
	mounted := map[string]string{}
	for _, mount := range pod.Spec.Containers[0].VolumeMounts {
		mounted[mount.MountPath] = folders[mount.Name]
	}
	return mounted, nil
}

func (p *playedPod) project(ctx context.Context, pod *corev1.Pod, source *corev1.VolumeProjection) (map[string]string, error) {
	files := map[string]string{}
	switch {
	case source.ConfigMap != nil:
		object, err := p.kubelet.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, source.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range source.ConfigMap.Items {
			files[item.Path] = object.Data[item.Key]
		}
	case source.Secret != nil:
		object, err := p.kubelet.client.CoreV1().Secrets(pod.Namespace).Get(ctx, source.Secret.Name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		for _, item := range source.Secret.Items {
			files[item.Path] = string(object.Data[item.Key])
		}
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			key := strings.TrimSuffix(strings.TrimPrefix(item.FieldRef.FieldPath, "metadata.annotations['"), "']")
			files[item.Path] = pod.Annotations[key]
		}
	default:
		return nil, errors.New("a projection of a kind that this kubelet does not know")
	}
	return files, nil
}

func writeFiles(folder string, files map[string]string) error {
	for name, content := range files {
		// Aside first: a server that starts just now reads the old file or the new one.
		if err := os.WriteFile(filepath.Join(folder, "."+name), []byte(content), 0o644); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(folder, "."+name), filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// start starts the container as the pod asks. There is no file system of its own to mount volumes into, so their paths are
// replaced in its arguments and in its redis.conf; and no network of its own, so it is told to keep to the pod's address.
func (p *playedPod) start(ctx context.Context, pod *corev1.Pod) (*process, error) {
	mounted, err := p.volumes(ctx, pod)
	if err != nil {
		return nil, err
	}
	var pairs []string
	for _, path := range slices.Backward(slices.SortedFunc(maps.Keys(mounted), func(a, b string) int { return len(a) - len(b) })) {
		pairs = append(pairs, path, mounted[path])
	}
	paths := strings.NewReplacer(pairs...)
	var arguments []string
	for _, argument := range pod.Spec.Containers[0].Args {
		file := paths.Replace(argument)
		arguments = append(arguments, file)
		if content, err := os.ReadFile(file); err == nil {
			if err := os.WriteFile(file, []byte(paths.Replace(string(content))), 0o644); err != nil {
				return nil, err
			}
		}
	}
	arguments = append(arguments, "--bind", p.ip, "--bind-source-addr", p.ip)

	log, err := os.OpenFile(filepath.Join(p.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	run := &process{id: fmt.Sprintf("played://%s-%d", pod.UID, p.restarts), started: time.Now(), ended: make(chan struct{})}
	run.cmd = exec.Command(fromCheckout("dist", "rootfs", "redis-7.0", "run-redis-server"), arguments...)
	run.cmd.Dir = p.dir
	run.cmd.Stdout, run.cmd.Stderr = log, log
	run.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := run.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = run.cmd.Wait()
		run.how = ending(run)
		close(run.ended)
	}()
	return run, nil
}

func ending(run *process) corev1.ContainerStateTerminated {
	how := corev1.ContainerStateTerminated{
		ContainerID: run.id, StartedAt: metav1.NewTime(run.started), FinishedAt: metav1.Now(), Reason: "Completed",
		ExitCode: int32(run.cmd.ProcessState.ExitCode()),
	}
	if status, ok := run.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		how.ExitCode = 128 + int32(status.Signal())
	}
	if how.ExitCode != 0 {
		how.Reason = "Error"
	}
	return how
}

func (r *process) signal(signal syscall.Signal) { _ = syscall.Kill(r.cmd.Process.Pid, signal) }

// probe is the pod's readiness probe: PING by a user that may do little else. Inside the pod 127.0.0.1 would be the server.
func probe(ip string, pod *corev1.Pod) bool {
	container := &pod.Spec.Containers[0]
	if container.ReadinessProbe == nil {
		return true
	}
	var user, port string
	command := container.ReadinessProbe.Exec.Command
	for i, word := range command[:len(command)-1] {
		switch word {
		case "--user":
			user = command[i+1]
		case "-p":
			port = command[i+1]
		}
	}
	answer, err := ask(net.JoinHostPort(ip, port), []string{user, "any"}, command[len(command)-1])
	return err == nil && answer == "PONG"
}

// preStop runs the pod's hook, and closes the channel when it has ended. Inside the pod 127.0.0.1 would be the server.
func (p *playedPod) preStop(ctx context.Context, pod *corev1.Pod) <-chan struct{} {
	ended := make(chan struct{})
	hook := pod.Spec.Containers[0].Lifecycle
	if hook == nil || hook.PreStop == nil {
		close(ended)
		return ended
	}
	command := hook.PreStop.Exec.Command
	script := strings.ReplaceAll(command[len(command)-1], "127.0.0.1", p.ip)
	script = strings.ReplaceAll(script, "redis-cli", fromCheckout("dist", "rootfs", "redis-7.0", "run-redis-cli"))
	ctx, cancel := context.WithTimeout(ctx, time.Duration(*pod.Spec.TerminationGracePeriodSeconds)*time.Second)
	run := exec.CommandContext(ctx, command[0], append(command[1:len(command)-1:len(command)-1], script)...)
	go func() {
		defer cancel()
		defer close(ended)
		_ = run.Run() // a kubelet goes on whatever a hook says
	}()
	return ended
}
