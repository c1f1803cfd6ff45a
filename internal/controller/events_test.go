package controller

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/report"
)

// Two failovers within minutes are two events, with the text of each; what is said again is counted.
func TestEachTextIsAnEvent(t *testing.T) {
	scheme := runtime.NewScheme()
	assert.NoError(t, cachev1.AddToScheme(scheme))
	client := fake.NewClientset()
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	assert.NoError(t, broadcaster.StartRecordingToSinkWithContext(t.Context()))
	t.Cleanup(broadcaster.Shutdown)
	recorder := broadcaster.NewRecorder(scheme, "redis-operator")
	resource := &cachev1.RedisCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "u"}}

	for _, text := range []string{"a was lost", "b was lost", "a was lost", "b was lost"} {
		event := report.Event{Warning: true, Reason: "Failover", Message: text}
		recorder.Eventf(resource, nil, event.Type(), event.Reason, eventAction(event), "%s", event.Message)
	}
	told := func() []string {
		list, err := client.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
		assert.NoError(t, err)
		var texts []string
		for _, event := range list.Items {
			if event.Series != nil {
				texts = append(texts, event.Note+", again")
			} else {
				texts = append(texts, event.Note)
			}
		}
		return slices.Sorted(slices.Values(texts))
	}
	assert.Eventually(t, func() bool { return slices.Equal(told(), []string{"a was lost, again", "b was lost, again"}) }, 10*time.Second, 10*time.Millisecond)
}
