package redis

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redis-operator/internal/state"
)

// captured is what a real server answered to INFO server persistence replication.
func captured(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	return string(text)
}

func TestParseInfoOfRealServers(t *testing.T) {
	for server, version := range map[string]string{"redis-7.0": "7.0.15", "redis-8.0": "8.0.2", "valkey-8.1": "8.1.1"} {
		t.Run(server, func(t *testing.T) {
			primary, err := ParseInfo(captured(t, server+"-primary.txt"))
			require.NoError(t, err)
			replica, err := ParseInfo(captured(t, server+"-replica.txt"))
			require.NoError(t, err)
			fenced, err := ParseInfo(captured(t, server+"-fenced.txt"))
			require.NoError(t, err)

			assert.Equal(t, version, primary.Version)
			assert.Equal(t, state.RolePrimary, primary.Role)
			assert.Len(t, primary.RunID, 40)
			assert.Positive(t, primary.Offset)
			assert.EqualValues(t, -1, primary.PreviousOffset)
			assert.Empty(t, primary.ReplicationID2)
			require.Len(t, primary.Replicas, 1)
			assert.True(t, primary.Replicas[0].Online)
			assert.Equal(t, "127.0.0.1", primary.Replicas[0].IP)
			assert.EqualValues(t, 7402, primary.Replicas[0].Port)

			assert.Equal(t, state.RoleReplica, replica.Role)
			assert.True(t, replica.LinkUp)
			assert.False(t, replica.Syncing)
			assert.Equal(t, "127.0.0.1", replica.PrimaryHost)
			assert.EqualValues(t, 7401, replica.PrimaryPort)
			assert.Equal(t, primary.ReplicationID, replica.ReplicationID)
			assert.Equal(t, primary.Offset, replica.Offset)
			assert.GreaterOrEqual(t, replica.LastHeardSeconds, int64(0))
			assert.EqualValues(t, -1, primary.LastHeardSeconds)

			assert.Equal(t, fenced.RunID, replica.RunID)
			assert.Equal(t, state.FenceHost, fenced.PrimaryHost)
			assert.EqualValues(t, state.FencePort, fenced.PrimaryPort)
			assert.False(t, fenced.LinkUp)
			assert.EqualValues(t, -1, fenced.LastHeardSeconds)
			assert.False(t, fenced.Loading)
		})
	}
}

func TestParseInfo(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want state.Redis
	}{
		"a primary whose replica is still being copied to": {
			text: "run_id:r1\r\nrole:master\r\nconnected_slaves:1\r\nmaster_repl_offset:70\r\n" +
				"slave0:ip=10.0.0.7,port=6379,state=wait_bgsave,offset=0,lag=3,type=rdb-channel\r\n",
			want: state.Redis{
				RunID: "r1", Role: state.RolePrimary, SecondOffset: -1, Offset: 70, LastHeardSeconds: -1,
				Replicas: []state.ReplicaLink{{IP: "10.0.0.7", Port: 6379, LagSeconds: 3}},
			},
		},
		"a replica by IPv6": {
			text: "run_id:r1\nrole:master\nslave0:ip=fd00::0007,port=6379,state=online,offset=5,lag=0\n",
			want: state.Redis{
				RunID: "r1", Role: state.RolePrimary, SecondOffset: -1, LastHeardSeconds: -1,
				Replicas: []state.ReplicaLink{{IP: "fd00::7", Port: 6379, Online: true, Offset: 5}},
			},
		},
		"a replica in the middle of its first copy": {
			text: "run_id:r1\nloading:0\nasync_loading:1\nrole:slave\nmaster_host:10.0.0.1\nmaster_port:6380\nmaster_link_status:down\n" +
				"master_sync_in_progress:1\nslave_repl_offset:1\nmaster_link_down_since_seconds:4\nmaster_repl_offset:0\nmaster_replid2:" +
				strings.Repeat("0", 40) + "\nsecond_repl_offset:-1\n",
			want: state.Redis{
				RunID: "r1", Role: state.RoleReplica, Loading: true, SecondOffset: -1, Offset: 1, LastHeardSeconds: -1,
				PrimaryHost: "10.0.0.1", PrimaryPort: 6380, Syncing: true, LinkDownSeconds: 4,
			},
		},
		"a replica that last heard its primary a while ago": {
			text: "run_id:r1\nrole:slave\nmaster_host:10.0.0.1\nmaster_port:6380\nmaster_link_status:up\nmaster_last_io_seconds_ago:3\n",
			want: state.Redis{
				RunID: "r1", Role: state.RoleReplica, SecondOffset: -1, PrimaryHost: "10.0.0.1", PrimaryPort: 6380, LinkUp: true,
				LastHeardSeconds: 3,
			},
		},
		"a promoted primary keeps its old history": {
			text: "run_id:r1\nredis_version:7.2.4\nserver_name:valkey\nvalkey_version:9.0.1\nrole:master\nmaster_replid:new\nmaster_replid2:old\n" +
				"master_repl_offset:99\nsecond_repl_offset:51\nuptime_in_seconds:12\n",
			want: state.Redis{
				RunID: "r1", Version: "9.0.1", Role: state.RolePrimary, UptimeSeconds: 12, ReplicationID: "new", ReplicationID2: "old",
				SecondOffset: 51, Offset: 99, LastHeardSeconds: -1,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseInfo(tc.text)
			require.NoError(t, err)
			tc.want.PreviousOffset, tc.want.MinReplicas, tc.want.MaxLagSeconds = -1, -1, -1
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestInfoTakesTheSettingsOfPrimaries(t *testing.T) {
	const primary, replica = "run_id:r1\nrole:master\n", "run_id:r1\nrole:slave\nmaster_host:h\nmaster_port:1\n"
	settings := "*4\r\n+min-replicas-max-lag\r\n+10\r\n+min-replicas-to-write\r\n+2\r\n"
	for name, tc := range map[string]struct {
		config, info string
		replicas     int32
		lag          int32
	}{
		"a primary":             {config: settings, info: primary, replicas: 2, lag: 10},
		"a replica":             {config: settings, info: replica, replicas: -1, lag: -1},
		"refused":               {config: "-NOPERM no\r\n", info: primary, replicas: -1, lag: -1},
		"not understood":        {config: "+what\r\n", info: primary, replicas: -1, lag: -1},
		"one is missing":        {config: "*2\r\n+min-replicas-to-write\r\n+2\r\n", info: primary, replicas: 2, lag: -1},
		"one that is no number": {config: "*2\r\n+min-replicas-to-write\r\n+9999999999\r\n", info: primary, replicas: -1, lag: -1},
	} {
		t.Run(name, func(t *testing.T) {
			reply := tc.config + "$" + strconv.Itoa(len(tc.info)) + "\r\n" + tc.info + "\r\n"
			n, err := Connect(t.Context(), hostile(t, welcome, reply), Address{}, Credentials{})
			require.NoError(t, err)
			defer n.Close()
			r, err := n.Info(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.replicas, r.MinReplicas)
			assert.Equal(t, tc.lag, r.MaxLagSeconds)
		})
	}
}

func TestInfoThatIsRefusedIsAReply(t *testing.T) {
	busy := "-BUSY Redis is busy running a script\r\n"
	n, err := Connect(t.Context(), hostile(t, welcome, busy+busy, "+OK\r\n"), Address{}, Credentials{})
	require.NoError(t, err)
	defer n.Close()
	_, err = n.Info(t.Context())
	assert.True(t, IsReply(err), err)
	require.NoError(t, n.Freeze(t.Context()), "the connection stands")
}

func TestParseInfoRefusesWhatItCannotRead(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             "",
		"no run id":           "role:master\n",
		"no role":             "run_id:r1\n",
		"a sentinel":          "run_id:r1\nrole:sentinel\n",
		"a broken offset":     "run_id:r1\nrole:master\nmaster_repl_offset:12x\n",
		"a port out of range": "run_id:r1\nrole:slave\nmaster_host:h\nmaster_port:70000\n",
		"a replica's offset":  "run_id:r1\nrole:master\nslave0:ip=1.2.3.4,port=1,state=online,offset=,lag=0\n",
		"a replica's port":    "run_id:r1\nrole:master\nslave0:ip=1.2.3.4,port=-1,state=online,offset=0,lag=0\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseInfo(text)
			assert.Error(t, err)
		})
	}
}

func FuzzParseInfo(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(f, err)
	for _, file := range files {
		f.Add(captured(f, filepath.Base(file)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseInfo(text)
		if err != nil {
			return
		}
		assert.NotEmpty(t, r.RunID)
		assert.Contains(t, []state.Role{state.RolePrimary, state.RoleReplica}, r.Role)
		assert.EqualValues(t, -1, r.PreviousOffset)
		assert.EqualValues(t, -1, r.MinReplicas)
		assert.GreaterOrEqual(t, r.PrimaryPort, int32(0))
		if r.Role == state.RoleReplica {
			assert.Empty(t, r.Replicas)
		}
	})
}
