package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// API asks the API server the few things this program wants to know; a whole client would be most of its size.
type API struct {
	server string
	client *http.Client
}

var errNotFound = errors.New("not found")

func (c *Cluster) API() (*API, error) {
	certificate, err := tls.LoadX509KeyPair(c.PKI("admin.crt"), c.PKI("admin.key"))
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(c.PKI("ca.crt"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, errors.New("no certificate in " + c.PKI("ca.crt"))
	}
	return &API{server: c.APIServer(), client: &http.Client{
		Timeout:   3 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}}},
	}}, nil
}

func (a *API) Get(path string) ([]byte, error) {
	response, err := a.client.Get(a.server + path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("%s: %w", path, errNotFound)
	}
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, response.Status)
	}
	return body, err
}

func (a *API) Ready() error {
	_, err := a.Get("/readyz")
	return err
}

// NodeReady is an error unless the kubelet has reported that the node works.
func (a *API) NodeReady(name string) error {
	body, err := a.Get("/api/v1/nodes/" + name)
	if err != nil {
		return err
	}
	return readyInStatus(body)
}

// NodeReadySince asks for a sign of life besides: of a node that just died, the API server still believes the last report.
// The kubelet of a new node gives none in its first ten seconds; then there is nothing yet to doubt either.
func (a *API) NodeReadySince(name string, since time.Time) error {
	if err := a.NodeReady(name); err != nil {
		return err
	}
	body, err := a.Get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/" + name)
	if errors.Is(err, errNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var lease struct{ Spec struct{ RenewTime time.Time } }
	if err := json.Unmarshal(body, &lease); err != nil {
		return err
	}
	if lease.Spec.RenewTime.Before(since) {
		return fmt.Errorf("last heard of at %s", lease.Spec.RenewTime.Local().Format(time.TimeOnly))
	}
	return nil
}

func readyInStatus(node []byte) error {
	var parsed struct {
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := json.Unmarshal(node, &parsed); err != nil {
		return err
	}
	for _, condition := range parsed.Status.Conditions {
		if condition.Type == "Ready" {
			if condition.Status == "True" {
				return nil
			}
			return errors.New(condition.Message)
		}
	}
	return errors.New("it has not reported yet")
}

func getOK(url string) error {
	client := http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
