package resources

import (
	"strconv"

	cachev1 "example.com/redis-operator/api/v1"
)

const mebibyte = 1 << 20

// memorySettings fit Redis into the container's memory limit L, so that a full Redis refuses writes (or evicts, if the user
// asks for it) instead of being killed with all its data:
//
//   - maxmemory is 70% of L. It counts data, clients' buffers and the backlog.
//   - The replicas' output buffer is beyond maxmemory: at most L/8, shared by all replicas from Redis 7.0 on, and at least
//     32 MB, since a limit that a first copy under writes exceeds makes that copy start again and again. There is no soft
//     limit, for the same reason; repl-timeout cuts off a replica that reads nothing.
//   - The rest, some 17% of L, is for the process, fragmentation, and the pages that change while a forked child sends a copy.
//   - The backlog is L/16, from 16 MB (1 MB is Redis' own, gone in a second of busy writing) to 512 MB; of a small L never
//     more than an eighth.
//
// With the default L of 256 MiB that is 179, 32 and 16 MB. Without a limit Redis' own defaults stay, with a backlog of 64 MB.
func memorySettings(spec *cachev1.RedisClusterSpec) []setting {
	limit := spec.Resources.Limits.Memory().Value() / mebibyte
	if limit < 8 {
		return []setting{{"repl-backlog-size", "64mb"}}
	}
	backlog := min(max(limit/16, min(16, limit/8)), 512)
	return []setting{
		{"maxmemory", megabytes(limit * 7 / 10)},
		{"repl-backlog-size", megabytes(backlog)},
		{"client-output-buffer-limit", "replica " + megabytes(max(limit/8, 32)) + " 0 0"},
	}
}

func megabytes(n int64) string { return strconv.FormatInt(n, 10) + "mb" }
