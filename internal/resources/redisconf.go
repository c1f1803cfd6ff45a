package resources

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/state"
)

// Where things are in the pod.
const (
	configDir    = "/etc/redis"
	dataDir      = "/data"
	configFile   = configDir + "/" + configKey
	usersFile    = configDir + "/" + SecretKeyUsers
	bootRoleKey  = "boot-role.conf"
	bootRoleFile = configDir + "/" + bootRoleKey
)

// setting is one line of redis.conf.
type setting struct{ key, value string }

// redisConf is what a node boots with: the operator's defaults, the user's settings over them, and the fence last, where
// nothing can undo it. The order matters, since in redis.conf the later line wins.
func redisConf(spec *cachev1.RedisClusterSpec) string {
	settings := slices.Concat(serverSettings(spec), persistenceSettings(spec), replicationSettings(spec), memorySettings(spec),
		userSettings(spec), fence())
	var b strings.Builder
	b.WriteString("# Written by redis-operator; change spec.config of the RedisCluster instead.\n")
	for _, s := range settings {
		b.WriteString(s.key + " " + s.value + "\n")
	}
	return b.String()
}

// serverSettings are the addresses, the files, and how the server ends. protected-mode would refuse all clients from outside
// while the default user has no password, which is the user's choice to make.
func serverSettings(spec *cachev1.RedisClusterSpec) []setting {
	return []setting{
		{"port", strconv.Itoa(int(spec.Port))},
		{"bind", "* -::*"},
		{"protected-mode", "no"},
		{"daemonize", "no"},
		{"dir", dataDir},
		{"aclfile", usersFile},
		{"tcp-keepalive", "60"},
		{"shutdown-timeout", strconv.Itoa(shutdownTimeoutSeconds)},
	}
}

// persistenceSettings keep no data on disk, not even what a replica leaves behind of its first copy: a node that restarts
// must come back empty, never with old data (measured: with Redis' defaults one came back with half of its keys).
//
// The lines of "save" add up, so ours must not be there if the user has one.
func persistenceSettings(spec *cachev1.RedisClusterSpec) []setting {
	settings := []setting{
		{"appendonly", "no"},
		{"rdb-del-sync-files", "yes"},
	}
	if _, users := spec.Config["save"]; !users {
		settings = append(settings, setting{"save", `""`})
	}
	return settings
}

// replicationSettings make replicas join without delay (Redis' own default waits 5 s) and notice a silent link early.
// There is no masterauth: the operator hands it to a node at run time, with its role.
//
// repl-timeout is the failover timeout: a replica that still counts on a silent primary vetoes its replacement, so it must give
// the link up when the operator gives the primary up.
func replicationSettings(spec *cachev1.RedisClusterSpec) []setting {
	return []setting{
		{"masteruser", UserReplication},
		{"replica-read-only", "yes"},
		{"repl-diskless-sync", "yes"},
		{"repl-diskless-sync-delay", "0"},
		{"repl-diskless-load", "on-empty-db"},
		{"repl-backlog-ttl", "0"}, // else a primary that has been alone for an hour takes a new replication id
		{"repl-ping-replica-period", "1"},
		{"repl-timeout", strconv.Itoa(int(spec.Failover.TimeoutSeconds))},
	}
}

// userSettings are spec.config, sorted.
func userSettings(spec *cachev1.RedisClusterSpec) []setting {
	var settings []setting
	for _, key := range slices.Sorted(maps.Keys(spec.Config)) {
		settings = append(settings, setting{key, configValue(string(spec.Config[key]))})
	}
	return settings
}

// fence makes a node that starts serve nobody and copy from nobody: nothing listens where it is told to copy from, so it
// answers MASTERDOWN to commands on data. A primary that restarts empty thus cannot empty its replicas.
//
// The included file comes from the pod's annotation boot-role, and is empty without one. Only the one node of a resource of
// size 1 has the annotation; it says "replicaof no one", which as the later line wins (measured, Redis 7.0 and Valkey 8.1). Such
// a primary still tries to connect to "(null):1" once a second, and logs it: the later line clears the address but not the
// state that the first one left. REPLICAOF 127.0.0.1 1 and REPLICAOF NO ONE in one MULTI end that.
func fence() []setting {
	return []setting{
		{"replica-serve-stale-data", "no"},
		{"replicaof", state.FenceHost + " " + strconv.Itoa(state.FencePort)},
		{"include", bootRoleFile},
	}
}
