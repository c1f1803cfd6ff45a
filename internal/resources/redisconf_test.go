package resources

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	cachev1 "example.com/redis-operator/api/v1"
)

func TestConfigValue(t *testing.T) {
	for value, want := range map[string]string{
		"allkeys-lru":      "allkeys-lru",
		"60 1000":          "60 1000",
		"":                 `""`,
		"  ":               `""`,
		`""`:               `""`,
		`"a b"`:            `"a b"`,
		`'a b' c`:          `'a b' c`,
		`"a \" b"`:         `"a \" b"`,
		`'a \' b'`:         `'a \' b'`,
		`'a \" b'`:         `'a \" b'`,
		"it's":             `"it's"`,
		`say "hi`:          `"say \"hi"`,
		`"a"b`:             `"\"a\"b"`,
		`"a\"`:             `"\"a\\\""`,
		`C:\x`:             `C:\x`,
		"# no comment":     "# no comment",
		" padded ":         "padded",
		"KEA":              "KEA",
		"%p %t 'x' \"y\" ": "%p %t 'x' \"y\"",
	} {
		if got := configValue(value); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}

func TestRedisConf(t *testing.T) {
	spec := everything().Spec
	lines := strings.Split(strings.TrimSuffix(redisConf(&spec), "\n"), "\n")

	want := []string{"replica-serve-stale-data no", "replicaof 127.0.0.1 1", "include /etc/redis/boot-role.conf"}
	if !slices.Equal(lines[len(lines)-3:], want) {
		t.Errorf("the fence is not last: %q", lines[len(lines)-3:])
	}
	if slices.Contains(lines, `save ""`) || !slices.Contains(lines, "save 60 1000") {
		t.Error("the user's save is not the only one")
	}
	if !slices.Contains(lines, "port 7000") || !slices.Contains(lines, "repl-timeout 20") {
		t.Errorf("port or repl-timeout: %q", lines)
	}
	if strings.Contains(redisConf(&spec), "masterauth") {
		t.Error("a replication password at boot")
	}
}

func TestUsersSettingsComeAfterTheDefaults(t *testing.T) {
	spec := minimal().Spec
	spec.Config = map[string]cachev1.ConfigValue{"maxmemory": "10mb", "appendonly": "yes"}
	text := redisConf(&spec)
	for _, order := range [][2]string{{"appendonly no", "appendonly yes"}, {"maxmemory 179mb", "maxmemory 10mb"}, {"maxmemory 10mb", "replicaof"}} {
		first, second := strings.Index(text, order[0]+"\n"), strings.Index(text, order[1])
		if order[1] == "replicaof" {
			first = strings.Index(text, order[0])
		}
		if first < 0 || second < first {
			t.Errorf("%q is not before %q", order[0], order[1])
		}
	}
}

func TestMemory(t *testing.T) {
	for limit, want := range map[string]string{
		"":       "repl-backlog-size 64mb",
		"4Mi":    "repl-backlog-size 64mb",
		"32Mi":   "maxmemory 22mb, repl-backlog-size 4mb, client-output-buffer-limit replica 32mb 0 0",
		"256Mi":  "maxmemory 179mb, repl-backlog-size 16mb, client-output-buffer-limit replica 32mb 0 0",
		"1Gi":    "maxmemory 716mb, repl-backlog-size 64mb, client-output-buffer-limit replica 128mb 0 0",
		"100Gi":  "maxmemory 71680mb, repl-backlog-size 512mb, client-output-buffer-limit replica 12800mb 0 0",
		"1000Ki": "repl-backlog-size 64mb",
	} {
		spec := cachev1.RedisClusterSpec{}
		if limit != "" {
			spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: list("1", limit)[corev1.ResourceMemory]}
		}
		var got []string
		for _, s := range memorySettings(&spec) {
			got = append(got, s.key+" "+s.value)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%s: %q", limit, got)
		}
	}
}
