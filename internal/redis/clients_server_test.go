//go:build integration

package redis_test

import (
	"bufio"
	"context"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redis-operator/internal/redis"
	"example.com/redis-operator/internal/redis/redistest"
	"example.com/redis-operator/internal/resources"
	"example.com/redis-operator/internal/state"
)

// client is a connection as an application has it.
type client struct {
	t       *testing.T
	conn    net.Conn
	replies *bufio.Reader
}

func dial(t *testing.T, s *redistest.Server) *client {
	t.Helper()
	conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(s.Port))))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &client{t: t, conn: conn, replies: bufio.NewReader(conn)}
}

func (c *client) send(command string) {
	c.t.Helper()
	_, err := c.conn.Write([]byte(command + "\r\n"))
	require.NoError(c.t, err)
}

// reply is the first line of the next reply, if it comes within that time.
func (c *client) reply(within time.Duration) (string, error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(within))
	line, err := c.replies.ReadString('\n')
	return strings.TrimSpace(line), err
}

func (c *client) ask(command string) string {
	c.t.Helper()
	c.send(command)
	line, err := c.reply(5 * time.Second)
	require.NoError(c.t, err, command)
	return line
}

func (c *client) assertOpen() {
	c.t.Helper()
	_, err := c.reply(20 * time.Millisecond)
	assert.ErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

func (c *client) assertClosed() {
	c.t.Helper()
	_, err := c.reply(5 * time.Second)
	assert.Error(c.t, err)
	assert.NotErrorIs(c.t, err, os.ErrDeadlineExceeded)
}

func TestQuorumIsSetAndReadBack(t *testing.T) {
	s := redistest.Start(t)
	n, c := connect(t, s), dial(t, s)
	assert.EqualValues(t, 0, info(t, n).MinReplicas)
	assert.EqualValues(t, 10, info(t, n).MaxLagSeconds)
	assert.Equal(t, "+OK", c.ask("SET a b"))

	require.NoError(t, n.SetQuorum(t.Context(), 1, 3))
	assert.EqualValues(t, 1, info(t, n).MinReplicas)
	assert.EqualValues(t, 3, info(t, n).MaxLagSeconds)
	assert.Contains(t, c.ask("SET a b"), "NOREPLICAS")

	err := n.SetQuorum(t.Context(), -1, 7)
	require.Error(t, err)
	assert.True(t, redis.IsReply(err), err)
	assert.EqualValues(t, 3, info(t, n).MaxLagSeconds, "both or neither")

	require.NoError(t, n.Freeze(t.Context()))
	assert.EqualValues(t, -1, info(t, n).MinReplicas)
	assert.EqualValues(t, -1, info(t, n).MaxLagSeconds)
}

// An old primary holds the writes of clients that come to it: Redis would refuse them for want of replicas, or of the role, in spite of
// the pause.
func TestAPauseHoldsWritesOnlyWhereNothingElseRefusesThem(t *testing.T) {
	s := redistest.Start(t)
	n := connect(t, s)
	require.NoError(t, n.PauseWrites(t.Context(), 24*time.Hour))
	require.NoError(t, n.SetQuorum(t.Context(), 1, 3))
	assert.Contains(t, dial(t, s).ask("SET a 1"), "NOREPLICAS")

	require.NoError(t, n.SetQuorum(t.Context(), 0, 3))
	waits := dial(t, s)
	waits.send("SET a 1")
	waits.assertOpen()
	require.NoError(t, n.PauseWrites(t.Context(), time.Millisecond), "a shorter one changes nothing")
	waits.assertOpen()
	_, err := n.KillClients(t.Context())
	require.NoError(t, err)
	waits.assertClosed()

	require.NoError(t, n.Freeze(t.Context()))
	assert.Contains(t, dial(t, s).ask("SET a 1"), "READONLY")
	require.NoError(t, n.Unpause(t.Context()))
	require.NoError(t, n.PromoteToPrimary(t.Context()))
	assert.Equal(t, "$-1", dial(t, s).ask("GET a"), "what was held is not carried out")
}

func TestPauseHoldsWritesBack(t *testing.T) {
	s := redistest.Start(t)
	n, writer, reader := connect(t, s), dial(t, s), dial(t, s)
	require.Equal(t, "+OK", writer.ask("SET a 1"))
	offset := info(t, n).Offset
	require.NoError(t, n.PauseWrites(t.Context(), time.Minute))

	writer.send("SET a 2")
	_, err := writer.reply(200 * time.Millisecond)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	assert.Equal(t, "$1", reader.ask("GET a"))
	assert.Equal(t, offset, info(t, n).Offset)

	require.NoError(t, n.Unpause(t.Context()))
	line, err := writer.reply(time.Second)
	require.NoError(t, err)
	assert.Equal(t, "+OK", line)
	require.NoError(t, n.Unpause(t.Context()), "where there is none")

	began := time.Now()
	require.NoError(t, n.PauseWrites(t.Context(), 300*time.Millisecond))
	assert.Equal(t, "+OK", writer.ask("SET a 3"))
	assert.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	assert.Less(t, time.Since(began), 2*time.Second, "it ends by itself")
}

func TestWritesHeldBackAreRefusedByAReplica(t *testing.T) {
	s := redistest.Start(t)
	n, writer := connect(t, s), dial(t, s)
	require.NoError(t, n.PauseWrites(t.Context(), time.Minute))
	writer.send("SET a 2")
	writer.assertOpen()
	require.NoError(t, n.Freeze(t.Context()))
	writer.assertOpen()
	require.NoError(t, n.Unpause(t.Context()))
	line, err := writer.reply(time.Second)
	require.NoError(t, err)
	assert.Contains(t, line, "READONLY")
}

// startPrimary starts a primary that takes connections from all of 127.0.0.0/8; in Redis 7.0, protected mode takes 127.0.0.1 only.
func startPrimary(t *testing.T) *redistest.Server {
	t.Helper()
	return redistest.Start(t, "protected-mode no")
}

// replicaOf starts a replica whose connection comes from that address.
func replicaOf(t *testing.T, primary *redistest.Server, ip, password string) (*redistest.Server, *redis.Node) {
	t.Helper()
	s := redistest.Start(t, append([]string{"bind-source-addr " + ip}, redistest.Fence...)...)
	n := connect(t, s)
	require.NoError(t, n.SetReplicationLogin(t.Context(), "replication", password))
	require.NoError(t, n.ReplicaOf(t.Context(), "127.0.0.1", primary.Port))
	return s, n
}

func letReplicasIn(t *testing.T, n *redis.Node, password string) {
	t.Helper()
	require.NoError(t, n.SetUser(t.Context(), "replication", "reset", "on", ">"+password, "+psync", "+replconf", "+ping"))
}

func awaitLink(t *testing.T, replica *redis.Node) {
	t.Helper()
	require.Eventually(t, func() bool { return info(t, replica).LinkUp }, 10*time.Second, 5*time.Millisecond)
}

// awaitReplicas waits until the primary has online replicas at exactly these addresses. They themselves may be a little behind in
// saying so (Valkey).
func awaitReplicas(t *testing.T, n *redis.Node, ips ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		var online []string
		for _, r := range info(t, n).Replicas {
			if r.Online {
				online = append(online, r.IP)
			}
		}
		return assert.ObjectsAreEqual(ips, online)
	}, 10*time.Second, 5*time.Millisecond)
}

func TestKillClientsClosesAllButOurs(t *testing.T) {
	s := startPrimary(t)
	n, other := connect(t, s), connect(t, s)
	letReplicasIn(t, n, "secret")
	_, replica := replicaOf(t, s, "127.0.0.2", "secret")
	awaitReplicas(t, n, "127.0.0.2")
	awaitLink(t, replica)
	idle, subscriber, held := dial(t, s), dial(t, s), dial(t, s)
	require.Equal(t, "+PONG", idle.ask("PING"))
	require.Equal(t, "*3", subscriber.ask("SUBSCRIBE channel"))
	for range 5 {
		_, err := subscriber.reply(time.Second) // the rest of the answer
		require.NoError(t, err)
	}
	require.NoError(t, n.PauseWrites(t.Context(), time.Minute))
	held.send("SET a b")
	held.assertOpen()
	subscriber.assertOpen()

	killed, err := n.KillClients(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 4, killed)
	idle.assertClosed()
	subscriber.assertClosed()
	held.assertClosed()
	<-other.Broken()
	require.NoError(t, n.Unpause(t.Context()))
	assert.Len(t, info(t, n).Replicas, 1)
	assert.True(t, info(t, replica).LinkUp)
	assert.Equal(t, "$-1", dial(t, s).ask("GET a"), "what was held back is not carried out")

	killed, err = n.KillClients(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, killed, "the one that was just dialed")
}

func TestKillReplicasClosesTheLinksMeant(t *testing.T) {
	s := startPrimary(t)
	n := connect(t, s)
	letReplicasIn(t, n, "old")
	_, stays := replicaOf(t, s, "127.0.0.2", "old")
	awaitReplicas(t, n, "127.0.0.2")
	leaver, _ := replicaOf(t, s, "127.0.0.3", "old")
	awaitReplicas(t, n, "127.0.0.2", "127.0.0.3")
	awaitLink(t, stays)

	// A replica that was stopped between its login and PSYNC.
	stopped := dial(t, s)
	require.Equal(t, "+OK", stopped.ask("AUTH replication old"))
	letReplicasIn(t, n, "new")
	require.NoError(t, stays.SetReplicationLogin(t.Context(), "replication", "new"))
	require.Equal(t, "+PONG", stopped.ask("PING"), "still logged in")
	application := dial(t, s)
	require.Equal(t, "+PONG", application.ask("PING"))

	before := info(t, stays)
	began := time.Now()
	left, err := n.KillReplicas(t.Context(), "replication", []string{"127.0.0.3", "127.0.0.9"})
	t.Logf("KillReplicas took %s", time.Since(began))
	require.NoError(t, err)
	assert.Zero(t, left)
	awaitReplicas(t, n, "127.0.0.2")
	stopped.assertClosed()
	application.assertOpen()

	time.Sleep(1500 * time.Millisecond) // a replica tries once a second
	awaitReplicas(t, n, "127.0.0.2")
	assert.True(t, info(t, stays).LinkUp)
	assert.Equal(t, before.ReplicationID, info(t, stays).ReplicationID)
	assert.False(t, info(t, connect(t, leaver)).LinkUp)

	left, err = n.KillReplicas(t.Context(), "replication", nil)
	require.NoError(t, err)
	assert.Zero(t, left)
	awaitReplicas(t, n, "127.0.0.2")
}

// Why KillReplicas closes logins too: an ACL user's connections outlive its password.
func TestALoginOutlivesItsPassword(t *testing.T) {
	s := redistest.Start(t)
	n, c := connect(t, s), dial(t, s)
	letReplicasIn(t, n, "old")
	require.Equal(t, "+OK", c.ask("AUTH replication old"))
	letReplicasIn(t, n, "new")
	assert.Contains(t, dial(t, s).ask("AUTH replication old"), "WRONGPASS")
	assert.Contains(t, c.ask("PSYNC ? -1"), "+FULLRESYNC")
}

func TestKillOthersClosesThatUsersConnections(t *testing.T) {
	s := redistest.Start(t)
	n, second, third := connect(t, s), connect(t, s), connect(t, s)
	application := dial(t, s)
	require.Equal(t, "+PONG", application.ask("PING"))
	require.NoError(t, n.KillOthers(t.Context(), redistest.OperatorUser))
	<-second.Broken()
	<-third.Broken()
	application.assertOpen()
	info(t, n)
	require.NoError(t, n.KillOthers(t.Context(), redistest.OperatorUser), "with nobody left")

	err := n.KillOthers(t.Context(), "nobody")
	assert.True(t, redis.IsReply(err), err)
}

func TestOperatorsUserMayDoAllThis(t *testing.T) {
	access := state.Access{OperatorHash: resources.PasswordHash("the operator's")}
	s := redistest.Start(t, strings.Split(strings.TrimSpace(resources.AccessRules(access)), "\n")...)
	n, err := redis.Connect(t.Context(), redis.DirectDialer(), s.Address(),
		redis.Credentials{Username: resources.UserOperator, Password: "the operator's"})
	require.NoError(t, err)
	defer n.Close()
	for name, do := range map[string]func(context.Context) error{
		"SetQuorum":   func(ctx context.Context) error { return n.SetQuorum(ctx, 0, 3) },
		"PauseWrites": func(ctx context.Context) error { return n.PauseWrites(ctx, time.Second) },
		"Unpause":     n.Unpause,
		"KillClients": func(ctx context.Context) error { _, err := n.KillClients(ctx); return err },
		"KillOthers":  func(ctx context.Context) error { return n.KillOthers(ctx, resources.UserOperator) },
		"KillReplicas": func(ctx context.Context) error {
			_, err := n.KillReplicas(ctx, resources.UserReplication, []string{"::1"})
			return err
		},
	} {
		assert.NoError(t, do(t.Context()), name)
	}
	assert.GreaterOrEqual(t, info(t, n).MinReplicas, int32(0), "CONFIG GET is allowed too")
}
