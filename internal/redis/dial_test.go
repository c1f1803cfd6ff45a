package redis

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAutomaticDialer(t *testing.T) {
	now := time.Unix(0, 0)
	var log []string
	directErr, forwardErr := error(nil), error(nil)
	dialer := func(name string, err *error) Dialer {
		return func(context.Context, Address) (net.Conn, error) {
			log = append(log, name)
			if *err != nil {
				return nil, *err
			}
			conn, _ := net.Pipe()
			return conn, nil
		}
	}
	a := &automatic{direct: dialer("direct", &directErr), forward: dialer("forward", &forwardErr), now: func() time.Time { return now }}
	dial := func() error { _, err := a.dial(t.Context(), Address{}); return err }

	directErr = errRefused
	require.ErrorIs(t, dial(), errRefused, "a refusal is an answer")
	directErr = errors.New("no route to host")
	require.NoError(t, dial())
	require.NoError(t, dial(), "the way is remembered")
	now = now.Add(wayKept + time.Second)
	directErr = nil
	require.NoError(t, dial(), "and tried again later")
	directErr = errors.New("no route to host")
	require.Error(t, dial(), "an unreachable node does not change a way that works")
	assert.Equal(t, []string{"direct", "direct", "forward", "forward", "direct", "direct"}, log)
}
