package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
)

// Metrics are the operator's own metrics. None carries a password or a name of a user's key.
type Metrics struct {
	clusters  *prometheus.GaugeVec
	failovers *prometheus.CounterVec
	steps     *prometheus.HistogramVec

	mu     sync.Mutex
	phases map[types.NamespacedName]cachev1.Phase
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		clusters: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redis_operator_clusters", Help: "Number of RedisClusters by phase.",
		}, []string{"phase"}),
		failovers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redis_operator_primary_changes_total", Help: "Changes of a primary, by why: Bootstrap, Adopt, Failover, DataLost.",
		}, []string{"namespace", "name", "reason"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "redis_operator_step_duration_seconds", Help: "Time of the steps of plans, by lane, action and result.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3},
		}, []string{"lane", "action", "result"}),
		phases: map[types.NamespacedName]cachev1.Phase{},
	}
	registry.MustRegister(m.clusters, m.failovers, m.steps)
	return m
}

// observe counts a resource under its phase.
func (m *Metrics) observe(key types.NamespacedName, phase cachev1.Phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before, known := m.phases[key]
	if known && before == phase {
		return
	}
	if known {
		m.clusters.WithLabelValues(string(before)).Dec()
	}
	m.phases[key] = phase
	m.clusters.WithLabelValues(string(phase)).Inc()
}

// forget takes a resource that is gone out of all metrics.
func (m *Metrics) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.phases[key]; known {
		m.clusters.WithLabelValues(string(before)).Dec()
		delete(m.phases, key)
	}
	m.failovers.DeletePartialMatch(prometheus.Labels{"namespace": key.Namespace, "name": key.Name})
}

// StepEnded counts a step.
func (m *Metrics) StepEnded(key types.NamespacedName, step plan.StepOutcome) {
	m.steps.WithLabelValues(step.Lane.String(), plan.NameOf(step.Step.Action), step.Result.String()).Observe(step.Took.Seconds())
	if _, isClaim := step.Step.Action.(plan.WriteClaim); isClaim && step.Result == plan.Done && step.Step.Why.Code != plan.CodeNewHistory {
		m.failovers.WithLabelValues(key.Namespace, key.Name, step.Step.Why.Code).Inc()
	}
}
