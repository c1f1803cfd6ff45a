package redis

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseClient(t *testing.T) {
	for line, want := range map[string]string{
		"id=7 addr=10.0.0.7:40112 laddr=10.0.0.1:6379 fd=8 name= user=replication redir=-1": "10.0.0.7",
		"id=7 addr=[fd00::7]:40112 laddr=[fd00::1]:6379 fd=8 name=addr=1.2.3.4:5":           "fd00::7",
		"id=7 addr=[::ffff:10.0.0.7]:40112 laddr=10.0.0.1:6379\n":                           "10.0.0.7",
	} {
		id, address, err := parseClient(line)
		require.NoError(t, err, line)
		assert.Equal(t, "7", id)
		assert.Equal(t, netip.MustParseAddr(want), address)
	}
	for _, line := range []string{"", "id=7 fd=8", "addr=10.0.0.7:1 fd=8", "id=7 addr=?:0", "id=7 addr=/tmp/redis.sock:0"} {
		_, _, err := parseClient(line)
		assert.Error(t, err, line)
	}
}

func TestKillReplicasComparesAddressesAsSuch(t *testing.T) {
	list := "$53\r\nid=4 addr=[fd00:0:0::7]:1 x=\nid=5 addr=10.0.0.5:1 x=\n\r\n"
	gone := "$0\r\n\r\n"
	n, err := Connect(t.Context(), hostile(t, welcome, ":0\r\n", list, ":1\r\n", gone), Address{}, Credentials{})
	require.NoError(t, err)
	defer n.Close()
	left, err := n.KillReplicas(t.Context(), "replication", []string{"FD00::0007"})
	require.NoError(t, err)
	assert.Zero(t, left)

	_, err = n.KillReplicas(t.Context(), "replication", []string{"redis-0.example"})
	require.Error(t, err, "a name matches no address, so nobody could say that nothing is left")
}
