package report_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/api/meta"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/report"
	"example.com/redis-operator/internal/testing/given"
)

func TestDataAtRisk(t *testing.T) {
	for name, c := range map[string]struct {
		given *given.Cluster
		want  string
	}{
		"not with half of the replicas": {given.Replicated(3).Primary("a").Replica("b").Replica("c"), "False QuorumMet"},
		"with fewer on record":          {given.Replicated(3).Primary("a").Replica("b").Replica("c").Attached(0, "b", "c"), "True QuorumBelowTarget"},
		"before there is a claim":       {given.Replicated(2), "True QuorumBelowTarget"},
		"not told of a single node":     {given.Replicated(1).Primary("a"), "False SingleNode"},
	} {
		t.Run(name, func(t *testing.T) {
			got := meta.FindStatusCondition(report.Status(of(c.given)).Conditions, cachev1.ConditionDataAtRisk)
			assert.Equal(t, c.want, string(got.Status)+" "+got.Reason)
		})
	}
}
