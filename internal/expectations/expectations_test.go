package expectations_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"example.com/redis-operator/internal/expectations"
)

func service(version string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "r", UID: "u", ResourceVersion: version, Labels: map[string]string{"of": "r"},
	}}
}

func TestNewestIsTheOwnWriteUntilTheCacheShowsIt(t *testing.T) {
	store := expectations.NewStore(time.Now)
	version := func(cached string) string { return expectations.Newest(store, service(cached)).ResourceVersion }
	assert.Equal(t, "9", version("9"), "nothing was written")
	store.Wrote("Service", service("10"))
	assert.Equal(t, "10", version("9"), "9 is older, though a longer word sorts before it")
	store.Wrote("Service", service("8"))
	assert.Equal(t, "10", version("9"), "a late answer does not bring back the old")
	assert.Equal(t, "11", version("11"))
	assert.Equal(t, "9", version("9"), "what the cache has caught up with is forgotten")
}

func TestVersionsThatDoNotCompareAreNotTrusted(t *testing.T) {
	store := expectations.NewStore(time.Now)
	store.Wrote("Service", service("x"))
	assert.Equal(t, "1", expectations.Newest(store, service("1")).ResourceVersion)
}

func TestUnseenAreOwnWritesOfOneOwner(t *testing.T) {
	now := time.Unix(0, 0)
	store := expectations.NewStore(func() time.Time { return now })
	store.Wrote("Service", service("10"))
	unseen := func(kind, namespace, value string) int { return len(store.Unseen(kind, namespace, "of", value)) }
	assert.Equal(t, 1, unseen("Service", "ns", "r"))
	assert.Equal(t, 0, unseen("ConfigMap", "ns", "r"))
	assert.Equal(t, 0, unseen("Service", "another", "r"))
	assert.Equal(t, 0, unseen("Service", "ns", "another"))
	now = now.Add(11 * time.Second)
	assert.Equal(t, 0, unseen("Service", "ns", "r"), "after that long it is taken to be gone again")

	store.Wrote("Service", service("10"))
	store.Forget("u")
	assert.Equal(t, 0, unseen("Service", "ns", "r"))
}

func deployment(generation int64, version string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Generation: generation, ResourceVersion: version}}
}

func TestVersion(t *testing.T) {
	base := deployment(1, "10")
	base.Annotations = map[string]string{"a": "1", "deployment.kubernetes.io/revision": "1"}
	for what, c := range map[string]struct {
		change func(*appsv1.Deployment)
		same   bool
	}{
		"its status":                  {func(d *appsv1.Deployment) { d.ResourceVersion, d.Status.Replicas = "11", 3 }, true},
		"the rollout controller":      {func(d *appsv1.Deployment) { d.Annotations["deployment.kubernetes.io/revision"] = "2" }, true},
		"its spec":                    {func(d *appsv1.Deployment) { d.Generation = 2 }, false},
		"an annotation of anyone's":   {func(d *appsv1.Deployment) { d.Annotations["a"] = "2" }, false},
		"an annotation that was lost": {func(d *appsv1.Deployment) { delete(d.Annotations, "a") }, false},
		"a label":                     {func(d *appsv1.Deployment) { d.Labels = map[string]string{"x": "y"} }, false},
		"its owner":                   {func(d *appsv1.Deployment) { d.OwnerReferences = []metav1.OwnerReference{{UID: "x"}} }, false},
	} {
		t.Run(what, func(t *testing.T) {
			changed := base.DeepCopy()
			c.change(changed)
			assert.Equal(t, c.same, expectations.Version(base) == expectations.Version(changed))
		})
	}
	assert.Equal(t, "10", expectations.Version(service("10")), "without generations every change counts")
}

func TestApplied(t *testing.T) {
	applied := expectations.NewApplied()
	assert.Empty(t, applied.Hash(service("10")))
	applied.Record(service("10"), "hash")
	assert.Equal(t, "hash", applied.Hash(service("10")))
	assert.Empty(t, applied.Hash(service("11")), "someone changed it")
	applied.Record(deployment(1, "20"), "hash")
	assert.Equal(t, "hash", applied.Hash(deployment(1, "21")), "its status does not count")
	applied.Forget("d")
	assert.Empty(t, applied.Hash(deployment(1, "20")))
}
