package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

func (c *Cluster) controlPlaneGroup() string { return c.Group("control-plane") }

// startControlPlane returns once the API server answers; the parts that depend on it have then just been started.
func (c *Cluster) startControlPlane(h Hierarchies) ([]*Process, error) {
	if err := h.Create(c.controlPlaneGroup()); err != nil {
		return nil, err
	}
	files := map[string]string{c.Dir("audit-policy.yaml"): auditPolicyText, c.Dir("Corefile"): c.corefile()}
	for user, file := range map[string]string{
		"admin": c.Kubeconfig(), "controller-manager": c.Dir("controller-manager.kubeconfig"),
		"scheduler": c.Dir("scheduler.kubeconfig"), "proxy": c.Dir("proxy.kubeconfig"),
	} {
		content, err := c.kubeconfig(user)
		if err != nil {
			return nil, err
		}
		files[file] = content
	}
	if err := writeFiles(files); err != nil {
		return nil, err
	}

	var started []*Process
	for _, part := range []Part{c.etcd(), c.apiserver()} {
		progress("starting %s", part.Name)
		process, err := c.Start(h, part)
		if err != nil {
			return nil, err
		}
		started = append(started, process)
	}
	slices.Reverse(started) // when time runs out, the API server's log is the one to show
	api, err := c.API()
	if err != nil {
		return nil, err
	}
	if err := Await("answer of the API server", 90*time.Second, started, api.Ready); err != nil {
		return nil, err
	}
	for _, part := range []Part{c.controllerManager(), c.scheduler(), c.coredns()} {
		progress("starting %s", part.Name)
		process, err := c.Start(h, part)
		if err != nil {
			return nil, err
		}
		started = append(started, process)
	}
	return started, nil
}

// awaitControlPlane waits for what pods need: an account to run as, and names.
func (c *Cluster) awaitControlPlane(started []*Process) error {
	api, err := c.API()
	if err != nil {
		return err
	}
	const account = "/api/v1/namespaces/default/serviceaccounts/default"
	part := started[slices.IndexFunc(started, func(p *Process) bool { return p.Name == "controller-manager" })]
	err = Await("service account in the namespace default", 30*time.Second, []*Process{part}, func() error {
		_, err := api.Get(account)
		return err
	})
	if err != nil {
		return err
	}
	part = started[slices.IndexFunc(started, func(p *Process) bool { return p.Name == "coredns" })]
	return Await("answer of the DNS", 30*time.Second, []*Process{part}, c.resolveAPIServer)
}

func (c *Cluster) resolveAPIServer() error {
	server := net.JoinHostPort(c.HostAddr().String(), "53")
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, server)
	}}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	addrs, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	if err == nil && !slices.Contains(addrs, c.KubernetesService().String()) {
		return fmt.Errorf("it says %v", addrs)
	}
	return err
}

func (c *Cluster) etcdURL(port int) string {
	return fmt.Sprintf("http://%s:%d", c.LoopbackAddr(), port)
}

// etcd need not survive the machine's end, so it does not wait for the disk.
func (c *Cluster) etcd() Part {
	return Part{Name: "etcd", Group: c.controlPlaneGroup(), Args: []string{
		c.Program("etcd"), "--data-dir=" + c.Dir("etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=" + c.etcdURL(2379), "--advertise-client-urls=" + c.etcdURL(2379),
		"--listen-peer-urls=" + c.etcdURL(2380), "--initial-advertise-peer-urls=" + c.etcdURL(2380),
		"--initial-cluster=default=" + c.etcdURL(2380),
	}}
}

func (c *Cluster) apiserver() Part {
	return Part{Name: "apiserver", Group: c.controlPlaneGroup(), Args: []string{
		c.Program("kube-apiserver"),
		"--etcd-servers=" + c.etcdURL(2379),
		"--bind-address=" + c.HostAddr().String(), "--secure-port=6443", "--advertise-address=" + c.HostAddr().String(),
		"--tls-cert-file=" + c.PKI("apiserver.crt"), "--tls-private-key-file=" + c.PKI("apiserver.key"),
		"--client-ca-file=" + c.PKI("ca.crt"),
		"--service-account-key-file=" + c.PKI("service-accounts.key"),
		"--service-account-signing-key-file=" + c.PKI("service-accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-cluster-ip-range=" + c.ServiceCIDR,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
		"--kubelet-client-certificate=" + c.PKI("admin.crt"), "--kubelet-client-key=" + c.PKI("admin.key"),
		"--kubelet-certificate-authority=" + c.PKI("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		// Webhooks are called on their pods: the host has routes to pods, but no proxy for services' addresses.
		"--enable-aggregator-routing",
		"--audit-policy-file=" + c.Dir("audit-policy.yaml"), "--audit-log-path=" + c.AuditLog(),
	}}
}

func (c *Cluster) controllerManager() Part {
	return Part{Name: "controller-manager", Group: c.controlPlaneGroup(), Args: []string{
		c.Program("kube-controller-manager"), "--kubeconfig=" + c.Dir("controller-manager.kubeconfig"),
		"--bind-address=" + c.LoopbackAddr().String(),
		"--service-account-private-key-file=" + c.PKI("service-accounts.key"), "--root-ca-file=" + c.PKI("ca.crt"),
		"--cluster-signing-cert-file=" + c.PKI("ca.crt"), "--cluster-signing-key-file=" + c.PKI("ca.key"),
		"--use-service-account-credentials", "--leader-elect=false",
		"--kube-api-qps=300", "--kube-api-burst=600",
	}}
}

func (c *Cluster) scheduler() Part {
	return Part{Name: "scheduler", Group: c.controlPlaneGroup(), Args: []string{
		c.Program("kube-scheduler"), "--kubeconfig=" + c.Dir("scheduler.kubeconfig"),
		"--bind-address=" + c.LoopbackAddr().String(), "--leader-elect=false",
	}}
}

func (c *Cluster) coredns() Part {
	return Part{Name: "coredns", Group: c.controlPlaneGroup(), Args: []string{c.Program("coredns"), "-conf", c.Dir("Corefile")}}
}

func writeFiles(files map[string]string) error {
	var problems []error
	for file, content := range files {
		problems = append(problems, os.WriteFile(file, []byte(content), 0o600))
	}
	return errors.Join(problems...)
}
