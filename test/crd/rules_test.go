//go:build integration

package crd

import (
	"fmt"
	"strings"
	"testing"
)

func TestSize(t *testing.T) {
	const asks = ": size: write a number from 1 to 10 (to run no Redis at all, delete the resource)"
	try(t, map[string]attempt{
		"one":  {spec: `size: 1`},
		"ten":  {spec: `size: 10`},
		"zero": {spec: `size: 0`, refused: []string{`spec.size: Invalid value: 0` + asks}},
		"negative": {spec: `size: -1`, refused: []string{
			// The first one is Kubernetes' own, because of the scale subresource.
			`.spec.size: Invalid value: -1: should be a non-negative integer`,
			`spec.size: Invalid value: -1` + asks}},
		"eleven": {spec: `size: 11`, refused: []string{`spec.size: Invalid value: 11` + asks}},
		"a word": {spec: `size: three`, refused: []string{`spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"`,
			`.spec.size: Invalid value: 0: .spec.size accessor error: three is of the type string, expected int64`}},
	})
}

func TestPort(t *testing.T) {
	const asks = ": port: write a TCP port from 1 to 65535; Redis' own is 6379"
	try(t, map[string]attempt{
		"the lowest":  {spec: `port: 1`},
		"the highest": {spec: `port: 65535`},
		"zero":        {spec: `port: 0`, refused: []string{`spec.port: Invalid value: 0` + asks}},
		"negative":    {spec: `port: -6379`, refused: []string{`spec.port: Invalid value: -6379` + asks}},
		"too high":    {spec: `port: 65536`, refused: []string{`spec.port: Invalid value: 65536` + asks}},
	})
}

func TestImage(t *testing.T) {
	const asks = ": image: write an image reference without spaces, for example redis:7.0"
	try(t, map[string]attempt{
		"with a registry, a port and a digest": {spec: `image: registry.example.com:5000/team/redis:7.0@sha256:aabb`},
		"empty":                                {spec: `image: ""`, refused: []string{`spec.image: Invalid value: ""` + asks}},
		"with a space":                         {spec: `image: "redis: 7.0"`, refused: []string{`spec.image: Invalid value: "redis: 7.0"` + asks}},
		"with a newline":                       {spec: `image: "redis:7.0\n"`, refused: []string{`spec.image: Invalid value: "redis:7.0\n"` + asks}},
		"a number":                             {spec: `image: 7.0`, refused: []string{`spec.image: Invalid value: "integer": spec.image in body must be of type string: "integer"`}},
		"far too long":                         {spec: `image: ` + strings.Repeat("a", 513), refused: []string{`spec.image: Too long: may not be more than 512 bytes`}},
		"null is missing":                      {spec: `image: null`, refused: []string{`spec.image: Required value: image: write an image of Redis or Valkey, for example redis:7.0`}},
	})
}

func TestPassword(t *testing.T) {
	try(t, map[string]attempt{
		"none":                    {spec: `size: 1`},
		"in plain text":           {spec: `password: "with spaces and \"quotes\""`},
		"in a secret":             {spec: `passwordSecret: {name: my-password}`},
		"in a secret under a key": {spec: `passwordSecret: {name: my-password, key: redis}`},
		"both": {spec: `{password: a, passwordSecret: {name: b}}`, refused: []string{
			`spec: Invalid value: password and passwordSecret exclude each other; remove one (passwordSecret is the safe one)`}},
		"empty": {spec: `password: ""`, refused: []string{
			`spec.password: Invalid value: "": password: may not be empty; remove the field to run without a password`}},
		"far too long": {spec: `password: ` + strings.Repeat("a", 513), refused: []string{`spec.password: Too long: may not be more than 512 bytes`}},
		"a secret without a name": {spec: `passwordSecret: {key: redis}`, refused: []string{
			`spec.passwordSecret.name: Required value`}},
		"a secret with an empty name": {spec: `passwordSecret: {name: ""}`, refused: []string{
			`spec.passwordSecret.name: Invalid value: "": passwordSecret.name: write the name of a Secret in the same namespace`}},
		"a secret with an empty key": {spec: `passwordSecret: {name: a, key: ""}`, refused: []string{
			`spec.passwordSecret.key: Invalid value: "": spec.passwordSecret.key in body should be at least 1 chars long`}},
	})
}

func TestConfig(t *testing.T) {
	const names = `spec.config: Invalid value: config: names of settings hold only lower case letters, digits and '-', at most 64 characters, for example maxmemory-policy`
	const values = `: config: values are one line, without tabs, line breaks or other control characters`
	try(t, map[string]attempt{
		"none":                     {spec: `config: {}`},
		"settings of users":        {spec: `config: {maxmemory-policy: allkeys-lru, save: "60 1000", appendonly: "yes", notify-keyspace-events: ""}`},
		"a name in capitals":       {spec: `config: {MaxMemory: 1gb}`, refused: []string{names}},
		"a name with a space":      {spec: `config: {"maxmemory 1gb\nport": "1"}`, refused: []string{names}},
		"an empty name":            {spec: `config: {"": "1"}`, refused: []string{names}},
		"a name far too long":      {spec: `config: {` + strings.Repeat("a", 65) + `: "1"}`, refused: []string{names}},
		"a value of two lines":     {spec: `config: {save: "60 1\nport 1"}`, refused: []string{`spec.config[save]: Invalid value: "60 1\nport 1"` + values}},
		"a value with a tab":       {spec: `config: {save: "60\t1"}`, refused: []string{`spec.config[save]: Invalid value: "60\t1"` + values}},
		"a value with a zero byte": {spec: `config: {save: "60\u0000"}`, refused: []string{`spec.config[save]: Invalid value: "60\x00"` + values}},
		"a value that is a number": {spec: `config: {maxclients: 100}`, refused: []string{
			`spec.config.maxclients: Invalid value: "integer": spec.config.maxclients in body must be of type string: "integer"`}},
		"a value far too long":    {spec: `config: {save: "` + strings.Repeat("a", 1025) + `"}`, refused: []string{`spec.config.save: Too long: may not be more than 1024 bytes`}},
		"one setting too many":    {spec: `config: {` + manySettings(65) + `}`, refused: []string{`spec.config: Too many: 65: must have at most 64 items`}},
		"as many as there may be": {spec: `config: {` + manySettings(64) + `}`},
	})
}

// Settings of redis.conf that would take a node out of the operator's hands.
func TestConfigOwnedByTheOperator(t *testing.T) {
	owned := map[string]struct {
		keys []string
		says string // with the setting, where there is a %s
	}{
		"addresses and files": {
			keys: []string{"port", "bind", "protected-mode", "unixsocket", "unixsocketperm", "daemonize", "supervised", "pidfile",
				"logfile", "dir", "dbfilename", "include", "loadmodule"},
			says: "config: remove %s; the operator depends on it (for the port use spec.port)",
		},
		"access": {
			keys: []string{"user", "aclfile", "requirepass", "masterauth", "masteruser", "rename-command", "acl-pubsub-default",
				"enable-protected-configs", "enable-module-command"},
			says: "config: remove %s; the operator depends on it (for a password use spec.passwordSecret)",
		},
		"roles": {
			keys: []string{"replicaof", "slaveof", "replica-serve-stale-data", "slave-serve-stale-data", "replica-read-only",
				"slave-read-only", "replica-announce-ip", "slave-announce-ip", "replica-announce-port", "slave-announce-port",
				"primaryauth", "primaryuser", "shutdown-on-sigterm", "shutdown-on-sigint"},
			says: "config: remove %s; the operator depends on it, since it decides the roles",
		},
		"safety": {
			keys: []string{"min-replicas-to-write", "min-replicas-max-lag", "min-slaves-to-write", "min-slaves-max-lag",
				"cluster-enabled", "cluster-config-file", "tls-port", "tls-cert-file", "rdb-del-sync-files"},
			says: "config: min-replicas-*, cluster-*, tls-* and rdb-del-sync-files belong to the operator; remove them",
		},
	}
	attempts := map[string]attempt{}
	for group, o := range owned {
		for _, key := range o.keys {
			attempts[group+": "+key] = attempt{
				spec:    fmt.Sprintf("config: {save: '', %s: 'x'}", key),
				refused: []string{`spec.config: Invalid value: ` + strings.ReplaceAll(o.says, "%s", key)},
			}
		}
	}
	attempts["several at once"] = attempt{
		spec:    `config: {include: a, port: "1", user: b, save: ""}`,
		refused: []string{`spec.config: Invalid value: config: remove port include; the operator depends on it (for the port use spec.port)`, `spec.config: Invalid value: config: remove user; the operator depends on it (for a password use spec.passwordSecret)`},
	}
	try(t, attempts)
}

func TestResources(t *testing.T) {
	const asks = "spec.resources: Invalid value: resources: requests may not be above limits; lower the request or raise the limit"
	try(t, map[string]attempt{
		"none":                   {spec: `resources: {}`},
		"only requests":          {spec: `resources: {requests: {memory: 1Gi}}`},
		"numbers without unit":   {spec: `resources: {requests: {cpu: 1, memory: 1073741824}, limits: {cpu: 1, memory: 1Gi}}`},
		"requests at the limits": {spec: `resources: {requests: {cpu: 500m}, limits: {cpu: "0.5"}}`},
		"memory above its limit": {spec: `resources: {requests: {memory: 1Gi}, limits: {memory: 512Mi}}`, refused: []string{asks}},
		"cpu above its limit":    {spec: `resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}`, refused: []string{asks}},
	})
}

func TestFailover(t *testing.T) {
	const asks = ": failover.timeoutSeconds: write a number from 4 to 300"
	try(t, map[string]attempt{
		"the shortest": {spec: `failover: {timeoutSeconds: 4}`},
		"the longest":  {spec: `failover: {timeoutSeconds: 300}`},
		"too short":    {spec: `failover: {timeoutSeconds: 3}`, refused: []string{`spec.failover.timeoutSeconds: Invalid value: 3` + asks}},
		"too long":     {spec: `failover: {timeoutSeconds: 301}`, refused: []string{`spec.failover.timeoutSeconds: Invalid value: 301` + asks}},
		"best effort":  {spec: `failover: {policy: BestEffort}`},
		"other policy": {spec: `failover: {policy: safe}`, refused: []string{
			`spec.failover.policy: Unsupported value: "safe": supported values: "Safe", "BestEffort"`}},
	})
}

func TestService(t *testing.T) {
	try(t, map[string]attempt{
		"node port":     {spec: `service: {type: NodePort, nodePort: 30000}`},
		"load balancer": {spec: `service: {type: LoadBalancer, loadBalancerClass: example.com/lb, annotations: {a: b}}`},
		"external name": {spec: `service: {type: ExternalName}`, refused: []string{
			`spec.service.type: Unsupported value: "ExternalName": supported values: "ClusterIP", "NodePort", "LoadBalancer"`}},
		"node port zero": {spec: `service: {nodePort: 0}`, refused: []string{
			`spec.service.nodePort: Invalid value: 0: spec.service.nodePort in body should be greater than or equal to 1`}},
		"node port high": {spec: `service: {nodePort: 65536}`, refused: []string{
			`spec.service.nodePort: Invalid value: 65536: spec.service.nodePort in body should be less than or equal to 65535`}},
	})
}

func TestName(t *testing.T) {
	const asks = `<nil>: Invalid value: metadata.name: must start with a letter and hold only lower case letters, digits and '-' (it names Services too), for example my-redis`
	// Kubernetes' own rule for names; ours says what is narrower.
	kubernetes := func(name string) string {
		return fmt.Sprintf(`metadata.name: Invalid value: %q: `, name) + "a lowercase RFC 1123 subdomain must consist of lower case " +
			"alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used " +
			`for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`
	}
	try(t, map[string]attempt{
		"the longest": {name: strings.Repeat("a", 45)},
		"one letter":  {name: "a"},
		"too long": {name: strings.Repeat("a", 46), refused: []string{
			`<nil>: Invalid value: metadata.name: at most 45 characters, so that the names of the objects made from it fit; choose a shorter name`}},
		"starts with a digit": {name: "7-redis", refused: []string{asks}},
		"with a dot":          {name: "my.redis", refused: []string{asks}},
		"in capitals":         {name: "MyRedis", refused: []string{kubernetes("MyRedis"), asks}},
		"ends with a dash":    {name: "my-redis-", refused: []string{kubernetes("my-redis-"), asks}},
	})
}

// What kubectl asks for by default; without it a misspelt field would be dropped in silence.
func TestUnknownField(t *testing.T) {
	try(t, map[string]attempt{
		"replicas": {spec: `replicas: 3`, refused: []string{
			`RedisCluster in version "v1" cannot be handled as a RedisCluster: strict decoding error: unknown field "spec.replicas"`}},
	})
}

func manySettings(n int) string {
	settings := make([]string, n)
	for i := range settings {
		settings[i] = fmt.Sprintf("setting-%d: ''", i)
	}
	return strings.Join(settings, ", ")
}
