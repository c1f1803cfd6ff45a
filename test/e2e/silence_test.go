//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
)

const (
	silentClusters = 20
	silence        = 60 * time.Second
	// quiet is how long the operator must have been quiet before it counts as at rest.
	quiet = 5 * time.Second
)

// TestSilentAtRest lets many resources rest for a minute: the operator asks the API server for nothing and logs nothing.
func TestSilentAtRest(t *testing.T) {
	log := auditFromNow(t)
	p := newPlace(t)
	var clusters []string
	for i := range silentClusters {
		r := p.redis(fmt.Sprintf("r%d", i), int32(1+i%3))
		p.create(r)
		clusters = append(clusters, r.Name)
	}
	for _, name := range clusters {
		p.awaitRunning(name)
	}
	require.NotEmpty(t, log.ofOperator(), "the audit log has the operator's requests")
	log.awaitQuiet()
	versions := p.versions()

	log = auditFromNow(t)
	since := time.Now().Add(time.Second).Truncate(time.Second) // logs are asked for by whole seconds
	select {
	case <-time.After(time.Until(since) + silence):
	case <-t.Context().Done():
	}
	requests := slices.DeleteFunc(log.ofOperator(), func(r request) bool { return foreign(r.ObjectRef.Namespace, p.name) })
	assert.Empty(t, requests, "requests of the operator while all resources rest")
	text, err := kube.operatorLogs(t.Context(), since)
	require.NoError(t, err)
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(text), "\n"), func(line string) bool {
		_, after, named := strings.Cut(line, `"namespace":"`)
		namespace, _, _ := strings.Cut(after, `"`)
		return line == "" || named && foreign(namespace, p.name)
	})
	assert.Empty(t, lines, "what the operator logged while all resources rest")
	assert.Equal(t, versions, p.versions(), "versions of the resources")
}

// foreign tells whether a namespace is another test's. It may still be ending, and the operator busy with that.
func foreign(namespace, own string) bool {
	return strings.HasPrefix(namespace, "e2e-") && namespace != own
}

// awaitQuiet waits until the operator has asked for nothing for a while.
func (a *audit) awaitQuiet() { a.t.Helper(); a.awaitQuietOf(a.ofOperator) }

// awaitQuietIn is awaitQuiet for one namespace.
func (a *audit) awaitQuietIn(namespace string) {
	a.t.Helper()
	a.awaitQuietOf(func() []request { return in(namespace, a.ofOperator()) })
}

func (a *audit) awaitQuietOf(requested func() []request) {
	a.t.Helper()
	count, since := len(requested()), time.Now()
	await(a.t, "the operator is quiet", settling, func(context.Context) error {
		requests := requested()
		if len(requests) != count {
			count, since = len(requests), time.Now()
		}
		if time.Since(since) < quiet && len(requests) == 0 {
			return errors.New("not long enough")
		}
		if time.Since(since) < quiet {
			return fmt.Errorf("%d requests; the last is %s", count, requests[len(requests)-1])
		}
		return nil
	})
}

// versions are the versions of all resources and their pods.
func (p *place) versions() map[string]string {
	p.t.Helper()
	var list cachev1.RedisClusterList
	require.NoError(p.t, kube.List(p.t.Context(), &list, client.InNamespace(p.name)))
	versions := map[string]string{}
	for i := range list.Items {
		versions[list.Items[i].Name] = list.Items[i].ResourceVersion
		for _, pod := range p.pods(list.Items[i].Name) {
			versions[pod.Name] = pod.ResourceVersion
		}
	}
	return versions
}
