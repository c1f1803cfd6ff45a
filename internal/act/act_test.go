package act_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/act"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/testing/given"
)

// refusing is an API server that answers every creation with the same error.
type refusing struct {
	client.Client
	err error
}

func (r refusing) Create(context.Context, client.Object, ...client.CreateOption) error { return r.err }

// In a namespace that is being deleted nothing can be made, and nothing has to be: that is no failure to tell and to try again,
// and no reason for another look at once, which would find the same until the namespace is gone.
func TestHowARefusedStepEnds(t *testing.T) {
	forbidden := func(causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "because",
			Details: &metav1.StatusDetails{Causes: causes},
		}}
	}
	conflict := &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonConflict}}
	for name, c := range map[string]struct {
		err     error
		want    plan.Result
		changed bool
	}{
		"the namespace is being deleted":    {forbidden(metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), plan.NotNow, false},
		"it is forbidden for another cause": {forbidden(metav1.StatusCause{Type: "Quota"}), plan.Failed, false},
		"it is forbidden without a cause":   {forbidden(), plan.Failed, false},
		"somebody else wrote first":         {conflict, plan.NotNow, true},
		"anything else":                     {errors.New("no route"), plan.Failed, false},
	} {
		t.Run(name, func(t *testing.T) {
			var p plan.Plan
			p.Add(plan.Objects, plan.CreateSeed{}, plan.CodeSeed, "because")
			p.Add(plan.Objects, plan.CreateSeed{}, plan.CodeSeed, "because")
			actor := &act.Actor{Writer: refusing{err: c.err}, Credentials: credentials.NewStore()}
			outcome := actor.Act(t.Context(), &cachev1.RedisCluster{}, given.Replicated(1).NoObjects().Snapshot(), &p)
			require.Len(t, outcome.Steps, 1, "the lane stops at it")
			assert.Equal(t, c.want, outcome.Steps[0].Result)
			assert.Equal(t, c.changed, outcome.Changed())
			assert.Equal(t, c.want == plan.Failed, outcome.Err() != nil)
		})
	}
}
