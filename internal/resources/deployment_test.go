package resources

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

func TestUserHashIsTheSameInEveryRelease(t *testing.T) {
	// If one of these changes, upgrading the operator restarts every pod of every user. See UserHash.
	for want, w := range map[string]*state.Want{
		"1-f31700add46d535f5c35131f8c6dbcbb": minimal(),
		"1-0525469a527471346d683b272ad5d184": everything(),
	} {
		if got := UserHash(w); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestUserHash(t *testing.T) {
	cases := map[string]struct {
		change func(*cachev1.RedisClusterSpec)
		same   bool
	}{
		"quantities by value":          {func(s *cachev1.RedisClusterSpec) { s.Resources.Limits = list("0.5", "268435456") }, true},
		"empty instead of absent":      {setEmpty, true},
		"another size":                 {func(s *cachev1.RedisClusterSpec) { s.Size = 5 }, true},
		"a password":                   {func(s *cachev1.RedisClusterSpec) { s.Password = "x" }, true},
		"another Service":              {func(s *cachev1.RedisClusterSpec) { s.Service.Type = corev1.ServiceTypeNodePort }, true},
		"another failover timeout":     {func(s *cachev1.RedisClusterSpec) { s.Failover.TimeoutSeconds = 9 }, true},
		"paused":                       {func(s *cachev1.RedisClusterSpec) { s.Paused = true }, true},
		"another image":                {func(s *cachev1.RedisClusterSpec) { s.Image = "redis:7.2" }, false},
		"another port":                 {func(s *cachev1.RedisClusterSpec) { s.Port = 1 }, false},
		"more memory":                  {func(s *cachev1.RedisClusterSpec) { s.Resources.Limits = list("500m", "257Mi") }, false},
		"less than a core more":        {func(s *cachev1.RedisClusterSpec) { s.Resources.Limits = list("501m", "256Mi") }, false},
		"no limits":                    {func(s *cachev1.RedisClusterSpec) { s.Resources.Limits = nil }, false},
		"a setting":                    {func(s *cachev1.RedisClusterSpec) { s.Config = map[string]cachev1.ConfigValue{"hz": "20"} }, false},
		"an empty setting":             {func(s *cachev1.RedisClusterSpec) { s.Config = map[string]cachev1.ConfigValue{"save": ""} }, false},
		"a label":                      {func(s *cachev1.RedisClusterSpec) { s.PodTemplate.Labels = map[string]string{"a": "b"} }, false},
		"no affinity, not the default": {func(s *cachev1.RedisClusterSpec) { s.PodTemplate.Affinity = &corev1.Affinity{} }, false},
		"tolerating for zero seconds":  {tolerate(new(int64(0))), false},
		"tolerating for ever":          {tolerate(nil), false},
		"quantities that are not whole": {func(s *cachev1.RedisClusterSpec) {
			s.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("0.1")
		}, true},
	}
	old := UserHash(minimal())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := minimal()
			c.change(&w.Spec)
			if got := UserHash(w) == old; got != c.same {
				t.Errorf("same %t, want %t", got, c.same)
			}
		})
	}
}

func setEmpty(s *cachev1.RedisClusterSpec) {
	s.Config = map[string]cachev1.ConfigValue{}
	s.Resources.Claims = []corev1.ResourceClaim{}
	s.PodTemplate.Labels = map[string]string{}
	s.PodTemplate.Tolerations = []corev1.Toleration{}
}

func tolerate(seconds *int64) func(*cachev1.RedisClusterSpec) {
	return func(s *cachev1.RedisClusterSpec) {
		s.PodTemplate.Tolerations = []corev1.Toleration{{Key: "k", Operator: corev1.TolerationOpExists, TolerationSeconds: seconds}}
	}
}

func TestTemplateIsKeptWhileTheUserChangesNothing(t *testing.T) {
	w := minimal()
	// What an earlier release made of the same wish: it rendered another grace period.
	earlier := podTemplate(w, UserHash(w))
	earlier.Spec.TerminationGracePeriodSeconds = new(int64(77))
	live := deployment(w, nil, 1)
	live.Spec.Template = earlier
	live.Annotations[AnnotationPodTemplate] = templateText(earlier)
	// Someone changed the live template by hand, and the resource in a way that needs no new pods.
	live.Spec.Template.Spec.NodeSelector = map[string]string{"by": "hand"}
	w.Spec.Size = 3

	got := deployment(w, live, 3)
	if !reflect.DeepEqual(got.Spec.Template, earlier) {
		t.Errorf("not the kept template: %+v", got.Spec.Template)
	}
	if got.Annotations[AnnotationPodTemplate] != live.Annotations[AnnotationPodTemplate] {
		t.Error("the kept text changed")
	}
}

func TestTemplateIsRenderedAnew(t *testing.T) {
	w := minimal()
	odd := podTemplate(w, UserHash(w))
	odd.Spec.TerminationGracePeriodSeconds = new(int64(77))
	for name, change := range map[string]func(annotations map[string]string){
		"the user changed something": func(a map[string]string) { a[AnnotationUserHash] = "1-other" },
		"no hash":                    func(a map[string]string) { delete(a, AnnotationUserHash) },
		"no kept template":           func(a map[string]string) { delete(a, AnnotationPodTemplate) },
		"an unreadable one":          func(a map[string]string) { a[AnnotationPodTemplate] = `{"spec":` },
		"one of another type":        func(a map[string]string) { a[AnnotationPodTemplate] = `{"spec":{"containers":7}}` },
		"one of nothing":             func(a map[string]string) { a[AnnotationPodTemplate] = `{}` },
	} {
		t.Run(name, func(t *testing.T) {
			live := deployment(w, nil, 1)
			live.Annotations[AnnotationPodTemplate] = templateText(odd)
			change(live.Annotations)
			fresh := deployment(w, nil, 1)
			if got := deployment(w, live, 1); Hash(got) != Hash(fresh) {
				t.Errorf("not the new rendering: %+v", got)
			}
		})
	}
}

func TestConfigChangesTheTemplate(t *testing.T) {
	w := minimal()
	old := deployment(w, nil, 1)
	w.Spec.Config = map[string]cachev1.ConfigValue{"hz": "20"}
	if reflect.DeepEqual(deployment(w, old, 1).Spec.Template, old.Spec.Template) {
		t.Error("a changed configuration rolls no pod")
	}
}

// What the Pod Security level "restricted" asks for, and more.
func TestPodIsRestricted(t *testing.T) {
	pod := podTemplate(everything(), "hash").Spec
	p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	for what, ok := range map[string]bool{
		"runs as non-root":           *p.RunAsNonRoot && *p.RunAsUser > 0 && *p.RunAsGroup > 0,
		"seccomp":                    p.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"no more privileges":         !*c.AllowPrivilegeEscalation && c.Privileged == nil,
		"no capabilities":            reflect.DeepEqual(c.Capabilities, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}),
		"read-only root":             *c.ReadOnlyRootFilesystem,
		"nothing of the host":        !pod.HostNetwork && !pod.HostPID && !pod.HostIPC && pod.Containers[0].Ports[0].HostPort == 0,
		"no token":                   !*pod.AutomountServiceAccountToken,
		"no environment of Services": !*pod.EnableServiceLinks,
		"one container":              len(pod.Containers) == 1 && len(pod.InitContainers) == 0,
	} {
		if !ok {
			t.Error("not so: " + what)
		}
	}
	for _, v := range pod.Volumes {
		if v.Projected == nil && v.EmptyDir == nil {
			t.Errorf("volume %s is of another type", v.Name)
		}
	}
}

func TestUserCannotGiveRoles(t *testing.T) {
	template := podTemplate(everything(), "hash")
	if _, there := template.Annotations[cachev1.AnnotationBootRole]; there {
		t.Error("a user's boot-role annotation reached the pods")
	}
	if _, there := template.Labels[cachev1.LabelRole]; there {
		t.Error("a user's role label reached the pods")
	}
	for key, value := range Selector("my-redis") {
		if template.Labels[key] != value {
			t.Errorf("the pods do not match the selector: %s=%s", key, template.Labels[key])
		}
	}
	if template.Labels["team"] != "shop" || template.Annotations["example.com/scrape"] != "yes" {
		t.Error("the user's own labels or annotations are missing")
	}
}

func TestPlacement(t *testing.T) {
	own := &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	spread := []corev1.TopologySpreadConstraint{{TopologyKey: "a"}}
	for name, c := range map[string]struct {
		user     cachev1.PodTemplate
		affinity *corev1.Affinity
	}{
		"affinity given":        {cachev1.PodTemplate{Affinity: own}, own},
		"empty affinity given":  {cachev1.PodTemplate{Affinity: &corev1.Affinity{}}, &corev1.Affinity{}},
		"spread given":          {cachev1.PodTemplate{TopologySpreadConstraints: spread}, nil},
		"spread given, but nil": {cachev1.PodTemplate{TopologySpreadConstraints: nil}, affinity("my-redis", &cachev1.PodTemplate{})},
	} {
		t.Run(name, func(t *testing.T) {
			w := minimal()
			w.Spec.PodTemplate = c.user
			got := podTemplate(w, "hash").Spec
			if !reflect.DeepEqual(got.Affinity, c.affinity) {
				t.Errorf("affinity %+v", got.Affinity)
			}
			for _, constraint := range got.TopologySpreadConstraints {
				if !reflect.DeepEqual(constraint.LabelSelector.MatchLabels, Selector("my-redis")) {
					t.Errorf("selector %+v", constraint.LabelSelector)
				}
			}
		})
	}
}
