package controller

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/state"
)

// Metrics are the operator's own metrics. None carries a password or a name of a user's key.
type Metrics struct {
	clusters       *prometheus.GaugeVec
	changes        *prometheus.CounterVec
	changeTimes    *prometheus.HistogramVec
	discarded      *prometheus.CounterVec
	withoutPrimary *prometheus.CounterVec
	attached       *prometheus.GaugeVec
	quorum         *prometheus.GaugeVec
	steps          *prometheus.HistogramVec

	mu     sync.Mutex
	phases map[types.NamespacedName]cachev1.Phase
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	resource := []string{"namespace", "name"}
	m := &Metrics{
		clusters: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redis_operator_clusters", Help: "Number of RedisClusters by phase.",
		}, []string{"phase"}),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redis_operator_primary_changes_total",
			Help: "Changes of a primary, by why: Bootstrap, Adopt, Failover, DataLost, PrimaryPodDeleted, NodeCordoned, Rollout, SwitchoverRequested.",
		}, []string{"namespace", "name", "reason"}),
		changeTimes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "redis_operator_primary_change_duration_seconds",
			Help:    "Time of a failover from the loss of the primary, or of a switchover from the pause of writes, until the Service led to the new primary.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15, 30, 60},
		}, []string{"reason"}),
		discarded: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redis_operator_discarded_bytes_total", Help: "Bytes that old primaries had written and nobody else had.",
		}, resource),
		withoutPrimary: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redis_operator_without_primary_seconds_total", Help: "Time without a primary that takes writes, counted when there is one again.",
		}, resource),
		attached: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redis_operator_attached_replicas", Help: "Pods that may copy from the primary, by the claim.",
		}, resource),
		quorum: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redis_operator_quorum", Help: "Replicas that the primary needs in sync to acknowledge a write, by the claim.",
		}, resource),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "redis_operator_step_duration_seconds", Help: "Time of the steps of plans, by lane, action and result.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 3},
		}, []string{"lane", "action", "result"}),
		phases: map[types.NamespacedName]cachev1.Phase{},
	}
	registry.MustRegister(m.clusters, m.changes, m.changeTimes, m.discarded, m.withoutPrimary, m.attached, m.quorum, m.steps)
	return m
}

// observe takes over what a report says of a resource.
func (m *Metrics) observe(key types.NamespacedName, s *state.Snapshot, phase cachev1.Phase) {
	if c := s.Claim; c != nil {
		m.attached.WithLabelValues(key.Namespace, key.Name).Set(float64(len(c.Attached)))
		m.quorum.WithLabelValues(key.Namespace, key.Name).Set(float64(c.Quorum))
	}
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

// changed counts the time that a change of the primary took.
func (m *Metrics) changed(key types.NamespacedName, event report.Event) {
	if event.Took > 0 {
		m.changeTimes.WithLabelValues(event.Reason).Observe(event.Took.Seconds())
		m.withoutPrimary.WithLabelValues(key.Namespace, key.Name).Add(event.Took.Seconds())
	}
}

// forget takes a resource that is gone out of all metrics.
func (m *Metrics) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if before, known := m.phases[key]; known {
		m.clusters.WithLabelValues(string(before)).Dec()
		delete(m.phases, key)
	}
	of := prometheus.Labels{"namespace": key.Namespace, "name": key.Name}
	m.changes.DeletePartialMatch(of)
	m.discarded.DeletePartialMatch(of)
	m.withoutPrimary.DeletePartialMatch(of)
	m.attached.DeletePartialMatch(of)
	m.quorum.DeletePartialMatch(of)
}

// StepEnded counts a step.
func (m *Metrics) StepEnded(key types.NamespacedName, step plan.StepOutcome) {
	m.steps.WithLabelValues(step.Lane.String(), plan.NameOf(step.Step.Action), step.Result.String()).Observe(step.Took.Seconds())
	if step.Result != plan.Done {
		return
	}
	switch action := step.Step.Action.(type) {
	case plan.WriteClaim:
		if step.Step.Why.Code != plan.CodeNewHistory {
			m.changes.WithLabelValues(key.Namespace, key.Name, step.Step.Why.Code).Inc()
		}
	case plan.Demote:
		m.discarded.WithLabelValues(key.Namespace, key.Name).Add(float64(action.Discards))
	}
}
