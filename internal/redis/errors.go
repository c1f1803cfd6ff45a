package redis

import (
	"errors"
	"strings"
	"syscall"
)

// errGone: the connection was ended on this side.
var errGone = errors.New("the connection is closed")

// errRefused is a port-forward's way of saying ECONNREFUSED.
var errRefused = errors.New("connection refused")

// ReplyError is an error that the node itself answered: it lives, and does not do what was asked.
type ReplyError struct{ message string }

// Error is Redis' message, such as "LOADING Redis is loading the dataset in memory"; passwords are struck out.
func (e *ReplyError) Error() string { return e.message }

// maxMessage is how much of a server's words goes into an error, in bytes. Redis' own are shorter.
const maxMessage = 512

// refusal is the error that the reply is, nil if it is none. These secrets are kept out of it.
func (r reply) refusal(secrets []string) error {
	if r.kind != kindError {
		return nil
	}
	message := r.text
	for _, secret := range secrets {
		if secret != "" {
			message = strings.ReplaceAll(message, secret, "***")
		}
	}
	return &ReplyError{message: message[:min(len(message), maxMessage)]}
}

// IsReply tells whether the node answered with an error, as against not answering.
func IsReply(err error) bool {
	var reply *ReplyError
	return errors.As(err, &reply)
}

// IsRefused tells whether the address answered that nothing listens there.
func IsRefused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, errRefused)
}

// denials begin the replies by which Redis turns a client away: wrong or missing password, missing permission (ACL),
// protected mode (Redis' acl.c, networking.c). Too many clients is not among them: that passes.
var denials = []string{"WRONGPASS", "NOAUTH", "NOPERM", "DENIED"}

// IsDenied tells whether the node answered, and refuses this client.
func IsDenied(err error) bool {
	var reply *ReplyError
	if !errors.As(err, &reply) {
		return false
	}
	for _, denial := range denials {
		if strings.HasPrefix(reply.message, denial) {
			return true
		}
	}
	return false
}
