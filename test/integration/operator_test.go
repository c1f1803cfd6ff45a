//go:build integration

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/controller"
	"example.com/redis-operator/internal/redis"
)

// operator is a running operator with a memory of its own.
type operator struct {
	tap  *tap
	log  *logBuffer
	name string
	stop context.CancelFunc
	done chan struct{}
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), cachev1.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}()

// startOperator starts an operator that looks after one namespace; it ends with the test if not earlier. The tap may be armed.
func startOperator(t testing.TB, config *rest.Config, namespace string, tapped *tap) *operator {
	t.Helper()
	o := &operator{tap: tapped, log: &logBuffer{}, done: make(chan struct{})}
	config = rest.CopyConfig(config)
	config.QPS = -1
	config.Wrap(tapped.transport)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Logger:                  funcr.New(o.log.line, funcr.Options{Verbosity: 1}),
		Cache:                   controller.CacheOptions([]string{namespace}),
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		GracefulShutdownTimeout: new(2 * time.Second),
		// Several operators run in this process.
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
	})
	require.NoError(t, err)
	require.NoError(t, controller.Wire(mgr, tapped.dialer(redis.DirectDialer()), prometheus.NewRegistry(), 2))
	ctx, stop := context.WithCancel(context.Background()) //nolint:usetesting // the test decides when it ends
	o.stop = stop
	go func() {
		defer close(o.done)
		if err := mgr.Start(ctx); err != nil && !tapped.isCut() {
			o.log.line("test", "the manager ended: "+err.Error())
		}
	}()
	t.Cleanup(o.end)
	return o
}

// end stops the operator and waits until it has ended.
func (o *operator) end() {
	o.stop()
	<-o.done
}

// crash cuts the operator off from the world, then stops it.
func (o *operator) crash() {
	o.tap.crash()
	o.end()
}

// logBuffer keeps the end of a log.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const logKept = 1 << 20

// line adds a line of the log. What says only where it comes from is left out.
func (b *logBuffer) line(prefix, arguments string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text.Len() > logKept {
		b.text.Next(b.text.Len() / 2)
	}
	if begin, _, found := strings.Cut(arguments, ` "controller"=`); found {
		if _, rest, found := strings.Cut(arguments, ` "lane"=`); found {
			arguments = begin + ` "lane"=` + rest
		}
	}
	_, _ = fmt.Fprintln(&b.text, time.Now().UTC().Format(timeOfDay), prefix, arguments)
}

const timeOfDay = "15:04:05.000"

func (b *logBuffer) copyTo(w io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = fmt.Fprint(w, b.text.String())
}
