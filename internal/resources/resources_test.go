package resources

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// minimal is the resource of the tutorial, with the defaults of the CRD.
func minimal() *state.Want {
	return &state.Want{
		Key: types.NamespacedName{Namespace: "shop", Name: "my-redis"},
		UID: "1111-aaaa",
		Spec: cachev1.RedisClusterSpec{
			Size:  1,
			Image: "redis:7.0",
			Port:  6379,
			Resources: corev1.ResourceRequirements{
				Requests: list("100m", "128Mi"),
				Limits:   list("500m", "256Mi"),
			},
			Failover: cachev1.FailoverSpec{TimeoutSeconds: 5, Policy: cachev1.FailoverSafe},
			Service:  cachev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP},
		},
		Access: state.Access{SeedKnown: true, OperatorHash: PasswordHash("operator's")},
	}
}

// everything sets every field that shows in an object.
func everything() *state.Want {
	w := minimal()
	w.Spec.Size = 3
	w.Spec.Port = 7000
	w.Spec.Resources = corev1.ResourceRequirements{Requests: list("1", "2Gi"), Limits: list("2", "4Gi")}
	w.Spec.Config = map[string]cachev1.ConfigValue{"maxmemory-policy": "allkeys-lru", "save": "60 1000", "notify-keyspace-events": ""}
	w.Spec.Failover.TimeoutSeconds = 20
	w.Spec.Service = cachev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, NodePort: 30079, LoadBalancerClass: new("example.com/lb"),
		Annotations: map[string]string{"example.com/internal": "true"},
	}
	w.Spec.PodTemplate = cachev1.PodTemplate{
		Labels:       map[string]string{"team": "shop", "app.kubernetes.io/name": "mine", cachev1.LabelRole: cachev1.RolePrimary},
		Annotations:  map[string]string{"example.com/scrape": "yes", cachev1.AnnotationBootRole: cachev1.BootRolePrimary},
		NodeSelector: map[string]string{"disk": "fast"},
		Tolerations:  []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule},
		},
		PriorityClassName:  "important",
		ImagePullSecrets:   []corev1.LocalObjectReference{{Name: "registry"}},
		ServiceAccountName: "redis",
	}
	w.Access.DefaultHash = PasswordHash("the user's")
	return w
}

func list(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
}

func TestGolden(t *testing.T) {
	primary := &state.Pod{Name: "my-redis-abc", UID: "2222-bbbb", IP: "10.0.0.7", RedisPort: 6379, NodeName: "node-1"}
	for name, objects := range map[string][]Object{
		"minimal":    All(minimal(), nil, 1),
		"everything": All(everything(), nil, 3),
		"slice":      {PrimarySlice(minimal(), primary)},
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			for _, o := range objects {
				got.WriteString("---\n" + asYAML(t, o))
			}
			golden(t, filepath.Join("testdata", name+".yaml"), got.Bytes())
		})
	}
}

// golden compares with a file, or rewrites it: UPDATE=1 go test ./internal/resources
func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; look at the difference after UPDATE=1 go test, and keep it if it is meant\n%s", path, firstDifference(want, got))
	}
}

func firstDifference(want, got []byte) string {
	w, g := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return "-" + w[i] + "\n+" + g[i]
		}
	}
	return "one is longer"
}

// asYAML shows an object as it is applied: without status, and with readable Secret data.
func asYAML(t *testing.T, o Object) string {
	t.Helper()
	fields := asMap(t, o)
	delete(fields, "status")
	if s, ok := o.(*corev1.Secret); ok {
		delete(fields, "data")
		readable := map[string]any{}
		for key, value := range s.Data {
			readable[key] = string(value)
		}
		fields["data (decoded)"] = readable
	}
	text, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func asMap(t *testing.T, o any) map[string]any {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func TestEveryObjectIsOwnedLabelledAndTyped(t *testing.T) {
	w := everything()
	objects := append(All(w, nil, 3), PrimarySlice(w, &state.Pod{Name: "p", IP: "10.0.0.1", RedisPort: 7000}))
	seen := map[string]bool{}
	for _, o := range objects {
		gvk := o.GetObjectKind().GroupVersionKind()
		id := gvk.Kind + " " + o.GetName()
		if gvk.Kind == "" || gvk.Version == "" || seen[id] {
			t.Errorf("%s: without kind or version, or twice", id)
		}
		seen[id] = true
		if o.GetNamespace() != "shop" {
			t.Errorf("%s: namespace %q", id, o.GetNamespace())
		}
		owner := metav1.GetControllerOf(o)
		if owner == nil || owner.UID != w.UID || owner.Kind != "RedisCluster" || owner.APIVersion != "cache.example.com/v1" || !*owner.BlockOwnerDeletion {
			t.Errorf("%s: owner %+v", id, owner)
		}
		for key, value := range Labels("my-redis") {
			if o.GetLabels()[key] != value {
				t.Errorf("%s: label %s is %q", id, key, o.GetLabels()[key])
			}
		}
	}
}

func TestNoFieldIsSentThatNobodyMeans(t *testing.T) {
	for _, o := range append(All(minimal(), nil, 1), All(everything(), nil, 3)...) {
		fields := asMap(t, o)
		delete(fields, "status")
		walk(fields, o.GetName(), func(path string, value any) {
			if value == nil {
				t.Errorf("%T %s is null", o, path)
			}
			if m, ok := value.(map[string]any); ok && len(m) == 0 && !strings.HasSuffix(path, ".emptyDir") {
				t.Errorf("%T %s is empty", o, path)
			}
		})
	}
}

func walk(value any, path string, visit func(string, any)) {
	visit(path, value)
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			walk(child, path+"."+key, visit)
		}
	case []any:
		for _, child := range v {
			walk(child, path+"[]", visit)
		}
	}
}

func TestAllIsStableAndLeavesTheWishAlone(t *testing.T) {
	w := everything()
	before := *w.Spec.DeepCopy()
	first, second := All(w, nil, 3), All(w, nil, 3)
	for i := range first {
		if Hash(first[i]) != Hash(second[i]) {
			t.Errorf("%T %s: another hash the second time", first[i], first[i].GetName())
		}
	}
	if !reflect.DeepEqual(before, w.Spec) {
		t.Error("building changed the spec")
	}
}

func TestHashFollowsTheIntent(t *testing.T) {
	w := minimal()
	old := Hash(deployment(w, nil, 1))
	if Hash(deployment(w, nil, 2)) == old {
		t.Error("the same hash for other replicas")
	}
}

func TestBudgetFromTwoPodsOn(t *testing.T) {
	for size, want := range map[int32]bool{1: false, 2: true, 3: true} {
		w := minimal()
		w.Spec.Size = size
		found := false
		for _, o := range All(w, nil, size) {
			found = found || o.GetObjectKind().GroupVersionKind().Kind == "PodDisruptionBudget"
		}
		if found != want {
			t.Errorf("size %d: budget %t", size, found)
		}
	}
}

// The password of the user never reaches this package; its hash must stay in the Secret.
func TestNoHashOutsideTheSecret(t *testing.T) {
	w := everything()
	for _, o := range All(w, nil, 3) {
		text := asYAML(t, o)
		_, isSecret := o.(*corev1.Secret)
		for _, hash := range []string{w.Access.DefaultHash, w.Access.OperatorHash} {
			if strings.Contains(text, hash) != isSecret {
				t.Errorf("%T %s: hash present %t", o, o.GetName(), !isSecret)
			}
		}
		if strings.Contains(text, SecretKeySeed+":") || strings.Contains(text, "key: "+SecretKeySeed) {
			t.Errorf("%T %s names the seed", o, o.GetName())
		}
	}
}

func TestNamesFit(t *testing.T) {
	name := strings.Repeat("a", 45)
	for _, n := range []string{WorkloadName(name), ServiceName(name), ReplicasServiceName(name), PrimaryServiceName(name), NodesServiceName(name),
		ConfigMapName(name), SecretName(name), PDBName(name), PrimarySliceName(name), WorkloadName(name) + "-7d4b9c6f58-abcde"} {
		if len(n) > 63 {
			t.Errorf("%s has %d characters", n, len(n))
		}
	}
}
