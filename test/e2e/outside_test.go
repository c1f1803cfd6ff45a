//go:build e2e

package e2e

import (
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestOperatorOutside runs the operator where it reaches the API server and nothing else: every word to a Redis has to go
// through a port-forward. A resource comes to run, survives a lost primary, and is scaled.
func TestOperatorOutside(t *testing.T) {
	needs(t, runtime.GOOS == "linux" && os.Geteuid() == 0, "root on Linux, for a network of its own")
	p := newPlace(t)
	program := builtOperator(t, nil)
	withoutOperator(t)
	network := newIsolatedNetwork(t, hostOf(t, kube.config))
	operator := runBy(t, program, kubeconfigFor(t, kube.config, "https://"+network.address), network.start)
	r := p.started(p.redis("r", 2))
	service := p.service("r", "")
	p.answers(service, "OK", "SET", "k", "v")
	p.onePrimary("r", "")
	killProcess(t, p.pod(r.Status.Primary))
	p.awaitAnswer(service, "v", "GET", "k")
	p.awaitAnotherPrimary("r", r.Status.Primary)
	p.resize("r", 3)
	p.awaitRunning("r")
	p.onePrimary("r", "")
	p.answers(service, "v", "GET", "k")
	operator.kill()
}

// isolatedNetwork is a network that has one address, at which one server of the outside answers.
type isolatedNetwork struct {
	address string
	starts  chan *exec.Cmd
	started chan error
}

// newIsolatedNetwork makes a network that ends with the test. A thread of this process lives in it: a socket belongs to the
// network in which it was made, so what is accepted there can be handed on from here.
func newIsolatedNetwork(t *testing.T, server string) *isolatedNetwork {
	t.Helper()
	n := &isolatedNetwork{starts: make(chan *exec.Cmd), started: make(chan error)}
	type opened struct {
		listener net.Listener
		err      error
	}
	ready := make(chan opened)
	go func() {
		// Never unlocked: with the goroutine the thread ends, and with it whom it started (Pdeathsig).
		runtime.LockOSThread()
		listener, err := listenApart()
		ready <- opened{listener, err}
		for command := range n.starts {
			n.started <- command.Start()
		}
	}()
	t.Cleanup(func() { close(n.starts) })
	o := <-ready
	require.NoError(t, o.err)
	t.Cleanup(func() { _ = o.listener.Close() })
	n.address = o.listener.Addr().String()
	go func() {
		for {
			inside, err := o.listener.Accept()
			if err != nil {
				return
			}
			go handOn(inside, server)
		}
	}()
	return n
}

// start starts a program in the network.
func (n *isolatedNetwork) start(command *exec.Cmd) error {
	n.starts <- command
	return <-n.started
}

// listenApart takes the thread to a new network and listens there.
func listenApart() (net.Listener, error) {
	if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("unshare", err)
	}
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	defer syscall.Close(socket)
	request := struct { // struct ifreq, man 7 netdevice
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(socket), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return nil, os.NewSyscallError("ioctl", errno)
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// handOn joins a connection to a new one to the server.
func handOn(inside net.Conn, server string) {
	defer inside.Close()
	outside, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer outside.Close()
	ended := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{inside, outside}, {outside, inside}} {
		go func() {
			_, _ = io.Copy(pair[0], pair[1])
			ended <- struct{}{}
		}()
	}
	<-ended
}
