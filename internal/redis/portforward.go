package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// errorStreamTimeout is how long to wait, once the data ended, for the kubelet to say why.
const errorStreamTimeout = 500 * time.Millisecond

// PortForwardDialer reaches pods through the API server, as kubectl port-forward does: by a websocket where the server has
// that, else by SPDY. Each connection is one of its own with the API server; meant for an operator run outside the cluster.
// It needs the verb create on pods/portforward.
//
// A port where nothing listens shows only with the first read: the kubelet dials after the streams are made.
func PortForwardDialer(config *rest.Config) Dialer {
	return func(ctx context.Context, address Address) (net.Conn, error) {
		dialer, err := streamDialer(config, address)
		if err != nil {
			return nil, fmt.Errorf("prepare a port-forward: %w", err)
		}
		type result struct {
			conn net.Conn
			err  error
		}
		done := make(chan result, 1)
		go func() {
			conn, err := forward(dialer, address.Port)
			done <- result{conn, err}
		}()
		select {
		case r := <-done:
			return r.conn, r.err
		case <-ctx.Done():
			// client-go's dialers take no context; what comes too late is closed.
			go func() {
				if r := <-done; r.conn != nil {
					_ = r.conn.Close()
				}
			}()
			return nil, ctx.Err()
		}
	}
}

func streamDialer(config *rest.Config, address Address) (httpstream.Dialer, error) {
	target, err := forwardURL(config, address)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, err
	}
	bySPDY := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	byWebsocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(target, config)
	if err != nil {
		return nil, err
	}
	return portforward.NewFallbackDialerForStreaming(byWebsocket, bySPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

func forwardURL(config *rest.Config, address Address) (*url.URL, error) {
	core := rest.CopyConfig(config)
	core.APIPath = "/api"
	core.GroupVersion = &corev1.SchemeGroupVersion
	core.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(core)
	if err != nil {
		return nil, err
	}
	return client.Post().Resource("pods").Namespace(address.Namespace).Name(address.Pod).SubResource("portforward").URL(), nil
}

// forward opens the pair of streams that make one forwarded connection (protocol portforward.k8s.io).
func forward(dialer httpstream.Dialer, port int32) (net.Conn, error) {
	session, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
	if err != nil {
		return nil, fmt.Errorf("open a port-forward: %w", err)
	}
	if protocol != portforward.PortForwardProtocolV1Name {
		_ = session.Close()
		return nil, fmt.Errorf("open a port-forward: the server speaks %q", protocol)
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(int(port)))
	headers.Set(corev1.PortForwardRequestIDHeader, "0")
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	complaints, err := session.CreateStream(headers)
	if err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("open the error stream of a port-forward: %w", err)
	}
	_ = complaints.Close() // nothing is ever written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := session.CreateStream(headers)
	if err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("open the data stream of a port-forward: %w", err)
	}
	c := &forwarded{session: session, data: data, complaint: make(chan error, 1), port: port}
	go c.hear(complaints)
	return c, nil
}

// forwarded is a connection made of a port-forward's streams.
type forwarded struct {
	session httpstream.Connection
	data    httpstream.Stream
	// complaint gets what the kubelet says on the error stream, once that ends.
	complaint chan error
	port      int32
}

func (c *forwarded) hear(complaints io.Reader) {
	text, err := io.ReadAll(io.LimitReader(complaints, 4<<10))
	c.complaint <- complaintError(string(text), err)
}

// complaintError makes the kubelet's words an error; nil for none. They end in the text of the runtime's failed dial.
func complaintError(text string, err error) error {
	switch {
	case strings.Contains(text, "connection refused"):
		return fmt.Errorf("port-forward: %w", errRefused)
	case text != "":
		return errors.New("port-forward: " + text)
	case err != nil:
		return fmt.Errorf("read the error stream of a port-forward: %w", err)
	}
	return nil
}

// Read reads what the pod sent. At the end it tells why, if the kubelet says so.
func (c *forwarded) Read(p []byte) (int, error) {
	count, err := c.data.Read(p)
	if count > 0 || err == nil {
		return count, nil
	}
	select {
	case complaint := <-c.complaint:
		if complaint != nil {
			return 0, complaint
		}
	case <-time.After(errorStreamTimeout):
	}
	return 0, err
}

// Write sends to the pod.
func (c *forwarded) Write(p []byte) (int, error) { return c.data.Write(p) }

// Close ends the streams and the connection with the API server.
func (c *forwarded) Close() error {
	_ = c.data.Reset()
	return c.session.Close()
}

// LocalAddr is not known of a forwarded connection.
func (c *forwarded) LocalAddr() net.Addr { return &net.TCPAddr{} }

// RemoteAddr has the port only; the kubelet chooses the address.
func (c *forwarded) RemoteAddr() net.Addr { return &net.TCPAddr{Port: int(c.port)} }

// errNoDeadline: streams have no deadlines; Connect and the commands of Node end the connection when their context ends.
var errNoDeadline = errors.New("a forwarded connection has no deadlines; close it instead")

// SetDeadline is not supported.
func (c *forwarded) SetDeadline(time.Time) error { return errNoDeadline }

// SetReadDeadline is not supported.
func (c *forwarded) SetReadDeadline(time.Time) error { return errNoDeadline }

// SetWriteDeadline is not supported.
func (c *forwarded) SetWriteDeadline(time.Time) error { return errNoDeadline }
