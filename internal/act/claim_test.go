package act_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/act"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/testing/given"
)

// answering is an API server that answers one write of a status after the other, as it is told to. It keeps what was written.
type answering struct {
	client.Client

	answers []error
	written []*cachev1.Claim
}

func (a *answering) Status() client.SubResourceWriter { return answeringStatus{api: a} }

type answeringStatus struct {
	client.SubResourceWriter

	api *answering
}

func (s answeringStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	a := s.api
	a.written = append(a.written, o.(*cachev1.RedisCluster).Status.Claim)
	answer := a.answers[0]
	a.answers = a.answers[1:]
	return answer
}

// Of a write that was not answered nobody knows whether it was carried out, or will be. What was to be recorded is settled before
// anything else is done about roles: another operator, or this one, might else undo in Redis what then comes on record.
func TestAClaimInDoubtIsSettledFirst(t *testing.T) {
	lost := errors.New("no answer")
	statusError := func(reason metav1.StatusReason) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason, Code: 409}}
	}
	for name, c := range map[string]struct {
		first      error
		newVersion bool
		second     error
		want       []int64 // the quorums that were to be recorded
		result     plan.Result
	}{
		"it is written once more":                        {first: lost, want: []int64{1, 1}, result: plan.NotNow},
		"again and again":                                {first: lost, second: lost, want: []int64{1, 1}, result: plan.Failed},
		"until the version tells":                        {first: lost, second: statusError(metav1.StatusReasonConflict), want: []int64{1, 1}, result: plan.NotNow},
		"a server that gave up waiting knows as little":  {first: statusError(metav1.StatusReasonTimeout), want: []int64{1, 1}, result: plan.NotNow},
		"not if the resource has another version by now": {first: lost, newVersion: true, want: []int64{1, 0}, result: plan.Done},
		"nor if the server said no":                      {first: statusError(metav1.StatusReasonForbidden), want: []int64{1, 0}, result: plan.Done},
		"one that is outdated is not acted by":           {first: statusError(metav1.StatusReasonConflict), want: []int64{1}, result: plan.NotNow},
		"until a newer one is read":                      {first: statusError(metav1.StatusReasonConflict), newVersion: true, want: []int64{1, 0}, result: plan.Done},
	} {
		t.Run(name, func(t *testing.T) {
			api := &answering{answers: []error{c.first, c.second}}
			actor := &act.Actor{Writer: api, Credentials: credentials.NewStore(), Written: expectations.NewStore(time.Now)}
			snapshot := given.Replicated(3).Primary("a").Replica("b").Replica("c").Snapshot()
			resource := &cachev1.RedisCluster{ObjectMeta: metav1.ObjectMeta{UID: "uid", ResourceVersion: "7"}}
			resource.Status.Claim = snapshot.Claim
			records := func(quorum int32) *plan.Plan {
				var p plan.Plan
				p.Add(plan.Safety, plan.WriteClaim{Old: resource.Status.Claim, New: cachev1.Claim{Quorum: quorum}}, plan.CodeFailover, "because")
				return &p
			}
			outcome := actor.Act(t.Context(), resource, snapshot, records(1))
			require.Len(t, outcome.Steps, 1)
			require.NotEqual(t, plan.Done, outcome.Steps[0].Result)

			if c.newVersion {
				resource.ResourceVersion = "8"
			}
			outcome = actor.Act(t.Context(), resource, snapshot, records(0))
			assert.Equal(t, c.result, outcome.Steps[0].Result)
			var quorums []int64
			for _, claim := range api.written {
				quorums = append(quorums, int64(claim.Quorum))
			}
			assert.Equal(t, c.want, quorums)
		})
	}
}
