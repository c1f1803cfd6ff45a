package main

import (
	"errors"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Whoever starts a second operator on a machine is told by which flags it finds room beside the first. The manager is the one of
// controller-runtime without ours in it: what counts is that its errors can be told apart.
func TestAPortThatIsTakenNamesTheFlags(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = taken.Close() })
	for name, o := range map[string]options{
		"of the probes":  {probeAddress: taken.Addr().String(), metricsAddress: "0"},
		"of the metrics": {probeAddress: "0", metricsAddress: taken.Addr().String()},
	} {
		t.Run(name, func(t *testing.T) {
			mgr, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{
				HealthProbeBindAddress: o.probeAddress, Metrics: metricsserver.Options{BindAddress: o.metricsAddress},
			})
			if err == nil {
				err = mgr.Start(t.Context())
			}
			words := portTaken(o, err)
			assert.Contains(t, words, taken.Addr().String())
			assert.Contains(t, words, "--health-probe-bind-address")
			assert.Contains(t, words, "--metrics-bind-address")
			assert.NotContains(t, words, "\n")
		})
	}
	assert.Empty(t, portTaken(options{}, errors.New("something else")))
}
