package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/netip"
	"os"
	"time"
)

// The cluster is made anew by each `up`, so its certificates only have to outlive a long-running one.
const validity = 10 * 365 * 24 * time.Hour

type authority struct {
	cluster     *Cluster
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// certified is whom a certificate stands for: the user and groups that the API server sees, and the names of a server.
type certified struct {
	file   string
	user   string
	groups []string
	names  []string
	addrs  []netip.Addr
}

// createPKI writes the certificates of all parts, and the key that signs service accounts' tokens.
func (c *Cluster) createPKI() error {
	ca, err := c.createAuthority()
	if err != nil {
		return err
	}
	for _, subject := range c.certificates() {
		if err := ca.issue(subject); err != nil {
			return err
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return writeKey(c.PKI("service-accounts.key"), key)
}

func (c *Cluster) certificates() []certified {
	subjects := []certified{
		{
			file: "apiserver", user: "kube-apiserver",
			names: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
			addrs: []netip.Addr{netip.MustParseAddr("127.0.0.1"), c.HostAddr(), c.KubernetesService()},
		},
		{file: "admin", user: "admin", groups: []string{"system:masters"}},
		{file: "controller-manager", user: "system:kube-controller-manager"},
		{file: "scheduler", user: "system:kube-scheduler"},
		{file: "proxy", user: "system:kube-proxy"},
	}
	for _, node := range c.AllNodes() {
		subjects = append(subjects, certified{
			file: node.Name(), user: "system:node:" + node.Name(), groups: []string{"system:nodes"},
			names: []string{node.Name()}, addrs: []netip.Addr{node.Addr()},
		})
	}
	return subjects
}

func (c *Cluster) createAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: c.Name},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(validity),
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	ca := &authority{cluster: c, certificate: template, key: key}
	if err := ca.sign("ca", template, key); err != nil {
		return nil, err
	}
	return ca, nil
}

func (ca *authority) issue(subject certified) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: subject.user, Organization: subject.groups},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		DNSNames:     subject.names,
	}
	for _, addr := range subject.addrs {
		template.IPAddresses = append(template.IPAddresses, net.IP(addr.AsSlice()))
	}
	return ca.sign(subject.file, template, key)
}

func (ca *authority) sign(file string, template *x509.Certificate, key *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, ca.certificate, key.Public(), ca.key)
	if err != nil {
		return err
	}
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(ca.cluster.PKI(file+".crt"), block, 0o644); err != nil {
		return err
	}
	return writeKey(ca.cluster.PKI(file+".key"), key)
}

func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}
