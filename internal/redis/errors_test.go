package redis

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestErrorKinds(t *testing.T) {
	denied := &ReplyError{message: "NOPERM this user has no permissions to run the 'info' command"}
	busy := &ReplyError{message: "BUSY Redis is busy running a script"}
	assert.True(t, IsDenied(denied))
	assert.True(t, IsReply(busy))
	assert.False(t, IsDenied(busy))
	assert.True(t, IsRefused(complaintError("error forwarding port 6379 to pod x: dial tcp4 127.0.0.1:6379: connect: connection refused", nil)))
	assert.False(t, IsRefused(complaintError("pod not found", nil)))
	assert.NoError(t, complaintError("", nil))

	assert.NoError(t, reply{kind: kindStatus, text: "OK"}.refusal(nil))
	assert.EqualError(t, reply{kind: kindError, text: "ERR with secret in it"}.refusal([]string{"", "secret"}), "ERR with *** in it")
	assert.Len(t, reply{kind: kindError, text: strings.Repeat("x", maxReply)}.refusal(nil).Error(), maxMessage)
}
