package redis

import (
	"context"
	"net"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Address is where a node is: an IP and a port, and the pod that they belong to.
type Address struct {
	Namespace string
	Pod       string
	IP        string
	Port      int32
}

// String is the pod and its address, for messages.
func (a Address) String() string { return a.Namespace + "/" + a.Pod + " (" + a.hostPort() + ")" }

func (a Address) hostPort() string { return net.JoinHostPort(a.IP, strconv.Itoa(int(a.Port))) }

// Dialer opens a connection to a node's address, within the context.
type Dialer func(ctx context.Context, address Address) (net.Conn, error)

// DirectDialer dials the pod's IP.
func DirectDialer() Dialer {
	var dialer net.Dialer
	return func(ctx context.Context, address Address) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", address.hostPort())
	}
}

const (
	// directTrial is how long a pod's IP is tried before the API server is asked to forward.
	directTrial = 500 * time.Millisecond
	// wayKept is for how long the way that worked is taken without trying the other.
	wayKept = 5 * time.Minute
)

// AutomaticDialer dials pod IPs where they can be reached, as in the cluster, and else goes through the API server's
// port-forward, as needed by an operator that a developer runs outside.
func AutomaticDialer(config *rest.Config, inCluster bool) Dialer {
	if inCluster {
		return DirectDialer()
	}
	a := &automatic{direct: DirectDialer(), forward: PortForwardDialer(config), now: time.Now}
	return a.dial
}

// way is how pods are reached.
type way int

const (
	wayUnknown way = iota
	wayDirect
	wayForward
)

type automatic struct {
	direct, forward Dialer
	now             func() time.Time

	mu    sync.Mutex
	way   way
	until time.Time
}

func (a *automatic) dial(ctx context.Context, address Address) (net.Conn, error) {
	switch a.known() {
	case wayDirect:
		conn, err := a.direct(ctx, address)
		if err == nil {
			a.remember(wayDirect)
		}
		return conn, err
	case wayForward:
		return a.forward(ctx, address)
	case wayUnknown:
	}
	trial, cancel := context.WithTimeout(ctx, directTrial)
	conn, err := a.direct(trial, address)
	cancel()
	if err == nil {
		a.remember(wayDirect)
		return conn, nil
	}
	if IsRefused(err) || ctx.Err() != nil {
		return nil, err
	}
	conn, err = a.forward(ctx, address)
	if err == nil {
		a.remember(wayForward)
	}
	return conn, err
}

func (a *automatic) known() way {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now().After(a.until) {
		return wayUnknown
	}
	return a.way
}

func (a *automatic) remember(w way) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.way, a.until = w, a.now().Add(wayKept)
}
