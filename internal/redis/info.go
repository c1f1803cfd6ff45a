package redis

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"example.com/redis-operator/internal/state"
)

// ParseInfo reads the answer to INFO of the sections server, persistence, replication and keyspace, of Redis 7.0 and later or Valkey.
// An answer without run id or role, or with a number that is none, is an error. What INFO does not tell is -1: PreviousOffset,
// MinReplicas, MaxLagSeconds.
func ParseInfo(text string) (state.Redis, error) {
	f := fields{values: map[string]string{}}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), ":"); ok {
			f.values[key] = value
		}
	}
	r := state.Redis{
		RunID:            f.values["run_id"],
		Version:          f.version(),
		Role:             state.Role(f.values["role"]),
		Loading:          f.flag("loading") || f.flag("async_loading"),
		UptimeSeconds:    f.number("uptime_in_seconds", 0),
		ReplicationID:    f.values["master_replid"],
		ReplicationID2:   f.secondHistory(),
		SecondOffset:     f.number("second_repl_offset", -1),
		PreviousOffset:   -1,
		HasKeys:          f.hasKeys(),
		LastHeardSeconds: -1,
		MinReplicas:      -1,
		MaxLagSeconds:    -1,
	}
	switch r.Role {
	case state.RolePrimary:
		r.Offset = f.number("master_repl_offset", 0)
		r.Replicas = f.replicas()
	case state.RoleReplica:
		r.Offset = f.number("slave_repl_offset", 0)
		r.PrimaryHost = f.values["master_host"]
		r.PrimaryPort = f.port("master_port", f.values["master_port"])
		r.LinkUp = f.values["master_link_status"] == "up"
		r.Syncing = f.flag("master_sync_in_progress")
		r.LinkDownSeconds = f.number("master_link_down_since_seconds", 0)
		if r.LinkUp {
			r.LastHeardSeconds = f.number("master_last_io_seconds_ago", -1)
		}
	default:
		return state.Redis{}, fmt.Errorf("parse INFO: role %q is neither master nor slave", short(f.values["role"]))
	}
	if r.RunID == "" {
		return state.Redis{}, fmt.Errorf("parse INFO: there is no run_id")
	}
	return r, f.err
}

// setting is a whole number of CONFIG GET's; -1 where it is not to be had.
func setting(settings map[string]string, name string) int32 {
	number, err := strconv.ParseInt(settings[name], 10, 32)
	if err != nil {
		return -1
	}
	return int32(number)
}

// fields are the lines of INFO; err is the first that could not be read.
type fields struct {
	values map[string]string
	err    error
}

func (f *fields) fail(key, value string) {
	if f.err == nil {
		f.err = fmt.Errorf("parse INFO: %s is %q", key, short(value))
	}
}

// short keeps a server's words from filling the log.
func short(s string) string { return s[:min(len(s), 64)] }

func (f *fields) parse(key, value string) int64 {
	number, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		f.fail(key, value)
	}
	return number
}

func (f *fields) number(key string, absent int64) int64 {
	value, ok := f.values[key]
	if !ok {
		return absent
	}
	return f.parse(key, value)
}

func (f *fields) flag(key string) bool { return f.values[key] == "1" }

func (f *fields) port(key, value string) int32 {
	number, err := strconv.ParseUint(value, 10, 16)
	if err != nil {
		f.fail(key, value)
	}
	return int32(number)
}

// version is the one that users know. Valkey and other forks say redis_version 7.2.4 for the sake of clients, next to their own.
func (f *fields) version() string {
	if own := f.values["valkey_version"]; own != "" {
		return own
	}
	return f.values["redis_version"]
}

// hasKeys looks for a line such as "db0:keys=3,expires=0,avg_ttl=0", which Redis writes for each database that is not empty
// (genRedisInfoString in server.c).
func (f *fields) hasKeys() bool {
	for key, value := range f.values {
		if strings.HasPrefix(key, "db") && strings.HasPrefix(value, "keys=") && !strings.HasPrefix(value, "keys=0,") {
			return true
		}
	}
	return false
}

// secondHistory is empty where there is none; Redis says forty zeros (CONFIG_RUN_ID_SIZE in server.h).
func (f *fields) secondHistory() string {
	id := f.values["master_replid2"]
	if strings.Trim(id, "0") == "" {
		return ""
	}
	return id
}

// replicas reads slave0, slave1 and so on, each "ip=10.0.0.7,port=6379,state=online,offset=9001,lag=0"; newer servers append
// more. The numbering has no gaps (genRedisInfoString in Redis' server.c).
func (f *fields) replicas() []state.ReplicaLink {
	var all []state.ReplicaLink
	for i := 0; ; i++ {
		key := "slave" + strconv.Itoa(i)
		value, ok := f.values[key]
		if !ok {
			return all
		}
		all = append(all, f.replica(key, value))
	}
}

func (f *fields) replica(key, value string) state.ReplicaLink {
	var r state.ReplicaLink
	for part := range strings.SplitSeq(value, ",") {
		name, word, _ := strings.Cut(part, "=")
		switch name {
		case "ip":
			r.IP = word
			if ip := net.ParseIP(word); ip != nil {
				r.IP = ip.String()
			}
		case "port":
			r.Port = f.port(key, word)
		case "state":
			r.Online = word == "online"
		case "offset":
			r.Offset = f.parse(key, word)
		case "lag":
			r.LagSeconds = f.parse(key, word)
		}
	}
	return r
}
