//go:build integration

package integration

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

const isolatedVariable = "INTEGRATION_ISOLATED"

func isolated() bool { return os.Getenv(isolatedVariable) != "" }

// isolate runs this program again in a network namespace, where it may give itself addresses, and a process namespace, where
// all processes that it starts die with it. It returns the exit code.
func isolate() int {
	// The death signal is sent when the thread that started the child ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT)

	child := exec.Command("/proc/self/exe", os.Args[1:]...)
	child.Args[0] = os.Args[0]
	child.Env = append(os.Environ(), isolatedVariable+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		child.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		child.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		child.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := child.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "start the tests in namespaces of their own (it takes root, or user namespaces for all):", err)
		return 1
	}
	go func() {
		for received := range signals {
			_ = child.Process.Signal(received)
		}
	}()
	err := child.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit) && exit.ExitCode() > 0:
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr, "the tests ended:", err)
	return 1
}

// podNetwork is where pods get their addresses from. Kubernetes refuses loopback addresses in EndpointSlices.
var podNetwork = [4]byte{10, 77, 0, 0}

// prepareNetwork brings the namespace's loopback device up and makes all addresses of podNetwork its own: on a loopback device
// the whole prefix of an address is local.
func prepareNetwork() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	if err := change(socket, "lo", unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error {
		r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
		return nil
	}); err != nil {
		return fmt.Errorf("bring the loopback device up: %w", err)
	}
	address := podNetwork
	address[3] = 1
	if err := change(socket, "lo:pods", unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(address[:]) }); err != nil {
		return fmt.Errorf("give it an address: %w", err)
	}
	mask := []byte{255, 255, 0, 0}
	if err := change(socket, "lo:pods", unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(mask) }); err != nil {
		return fmt.Errorf("give it a prefix: %w", err)
	}
	return nil
}

func change(socket int, device string, request uint, set func(*unix.Ifreq) error) error {
	ifreq, err := unix.NewIfreq(device)
	if err != nil {
		return err
	}
	if err := set(ifreq); err != nil {
		return err
	}
	return unix.IoctlIfreq(socket, request, ifreq)
}
