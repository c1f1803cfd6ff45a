// Command manager is the Redis operator.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/controller"
	"example.com/redis-operator/internal/redis"
)

// version is set when the binary is built.
var version = "dev"

// The lease is short, so that a standby takes over soon after a leader's node dies; it is given back on a normal end.
const (
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = 1 * time.Second
)

// options are the command line.
type options struct {
	metricsAddress, probeAddress string
	leaderElect                  bool
	leaderElectionNamespace      string
	watchNamespaces              string
	workers                      int
	zap                          zap.Options
}

func parseFlags() options {
	var o options
	flag.StringVar(&o.metricsAddress, "metrics-bind-address", ":8080", "Address on which metrics are served; 0 serves none.")
	flag.StringVar(&o.probeAddress, "health-probe-bind-address", ":8081", "Address on which /healthz and /readyz are served.")
	flag.BoolVar(&o.leaderElect, "leader-elect", false, "Let only one of several operators act, by a Lease.")
	flag.StringVar(&o.leaderElectionNamespace, "leader-election-namespace", "", "Namespace of that Lease; by default the one that the operator runs in.")
	flag.StringVar(&o.watchNamespaces, "watch-namespaces", "", "Namespaces to look after, separated by commas; by default all.")
	flag.IntVar(&o.workers, "max-concurrent-reconciles", 8, "How many resources are worked on at the same time; at least 1.")
	o.zap.BindFlags(flag.CommandLine)
	flag.Parse()
	return o
}

func main() {
	o := parseFlags()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&o.zap)))
	if err := run(o); err != nil {
		if words := portTaken(o, err); words != "" {
			fmt.Fprintln(os.Stderr, "redis-operator: "+words)
		} else {
			ctrl.Log.Error(err, "the operator ends")
		}
		os.Exit(1)
	}
}

// portTaken says what to do where somebody else listens at an address that was asked for; empty for every other error. That is
// most often a second operator on a machine, started by a person: a stack trace in JSON does not help.
func portTaken(o options, err error) string {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return ""
	}
	return fmt.Sprintf("%v. Does another operator run on this machine? End it, or choose other addresses: "+
		"--health-probe-bind-address (it is %s) and --metrics-bind-address (it is %s; 0 serves none), for example "+
		"make run ARGS=\"--health-probe-bind-address=:9081 --metrics-bind-address=:9080\"", err, o.probeAddress, o.metricsAddress)
}

func run(o options) error {
	if o.workers < 1 {
		return fmt.Errorf("--max-concurrent-reconciles is %d; write at least 1", o.workers)
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("no cluster: set KUBECONFIG or run inside one: %w", err)
	}
	_, err = rest.InClusterConfig()
	inCluster := err == nil
	if !errors.Is(err, rest.ErrNotInCluster) && err != nil {
		return fmt.Errorf("reading the service account: %w", err)
	}
	mgr, err := newManager(o, config)
	if err != nil {
		return err
	}
	if err := controller.Wire(mgr, redis.AutomaticDialer(config, inCluster), metrics.Registry, o.workers); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version, "namespaces", o.watchNamespaces)
	return mgr.Start(ctrl.SetupSignalHandler())
}

func newManager(o options, config *rest.Config) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1.AddToScheme(scheme))
	config.UserAgent = "redis-operator/" + version
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controller.CacheOptions(splitList(o.watchNamespaces)),
		Metrics:                       metricsserver.Options{BindAddress: o.metricsAddress},
		HealthProbeBindAddress:        o.probeAddress,
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "redis-operator.cache.example.com",
		LeaderElectionNamespace:       o.leaderElectionNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(5 * time.Second),
	})
	if err != nil {
		return nil, fmt.Errorf("starting the manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("ping", healthz.Ping)); err != nil {
		return nil, err
	}
	return mgr, nil
}

func splitList(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
