//go:build integration

package integration

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/redis-operator/test/apiserver"
)

// TestMain starts the tests again in namespaces of their own, where one API server serves them all.
func TestMain(m *testing.M) {
	flag.Parse()
	if !isolated() {
		os.Exit(isolate())
	}
	if err := prepareNetwork(); err != nil {
		fmt.Fprintln(os.Stderr, "prepare the network namespace:", err)
		os.Exit(1)
	}
	ctrl.SetLogger(logr.Discard()) // each operator has a log of its own
	atOnce()
	apiserver.Main(m, stopControllers)
}

// atOnce lets tests wait side by side: they spend their time waiting for one another's servers and clocks.
func atOnce() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" && f.Value.String() != "" })
	if os.Getenv("INTEGRATION_PARALLEL") != "" {
		_ = flag.Set("test.parallel", os.Getenv("INTEGRATION_PARALLEL"))
	} else if !given {
		_ = flag.Set("test.parallel", "8")
	}
}
