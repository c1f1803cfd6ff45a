package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

const (
	dialTimeout = 300 * time.Millisecond
	readTimeout = 500 * time.Millisecond
)

// connection speaks as much of Redis' protocol as the clients need.
type connection struct {
	net.Conn
	reader *bufio.Reader
}

func dial(address string) (*connection, error) {
	conn, err := net.DialTimeout("tcp", address, dialTimeout)
	if err != nil {
		return nil, err
	}
	return &connection{conn, bufio.NewReader(conn)}, nil
}

// replyError is what a server answers instead of a result.
type replyError string

func (e replyError) Error() string { return string(e) }

// send writes commands, without waiting for the replies.
func (c *connection) send(commands ...[]string) error {
	var out strings.Builder
	for _, command := range commands {
		fmt.Fprintf(&out, "*%d\r\n", len(command))
		for _, word := range command {
			fmt.Fprintf(&out, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	if err := c.SetDeadline(time.Now().Add(readTimeout)); err != nil {
		return err
	}
	_, err := io.WriteString(c.Conn, out.String())
	return err
}

// receive reads one reply: a string, a number as a string, nil, or a list of these.
func (c *connection) receive() (any, error) {
	if err := c.SetDeadline(time.Now().Add(readTimeout)); err != nil {
		return nil, err
	}
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("an empty line in place of a reply")
	}
	switch kind, rest := line[0], line[1:]; kind {
	case '+', ':':
		return rest, nil
	case '-':
		return nil, replyError(rest)
	case '$':
		return c.bulk(rest)
	case '*':
		return c.list(rest)
	default:
		return nil, fmt.Errorf("no reply of Redis: %q", line)
	}
}

func (c *connection) bulk(size string) (any, error) {
	length, err := strconv.Atoi(size)
	if err != nil || length < 0 {
		return nil, err
	}
	content := make([]byte, length+2)
	if _, err := io.ReadFull(c.reader, content); err != nil {
		return nil, err
	}
	return string(content[:length]), nil
}

func (c *connection) list(size string) (any, error) {
	length, err := strconv.Atoi(size)
	if err != nil || length < 0 {
		return nil, err
	}
	list := make([]any, length)
	for i := range list {
		if list[i], err = c.receive(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// do sends one command and reads its reply.
func (c *connection) do(command ...string) (any, error) {
	if err := c.send(command); err != nil {
		return nil, err
	}
	return c.receive()
}
