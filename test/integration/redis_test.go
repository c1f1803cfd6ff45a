//go:build integration

package integration

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

// redisConn is a client's connection to one Redis, without any cleverness that could hide what happens to it.
type redisConn struct {
	net.Conn
	reader *bufio.Reader
}

// replyError is an error that Redis answered.
type replyError string

func (e replyError) Error() string { return string(e) }

const redisTimeout = 2 * time.Second

// dialRedis connects; with a password it logs in, as the user if one is given.
func dialRedis(address string, login ...string) (*redisConn, error) {
	conn, err := net.DialTimeout("tcp", address, redisTimeout)
	if err != nil {
		return nil, err
	}
	c := &redisConn{Conn: conn, reader: bufio.NewReader(conn)}
	if len(login) > 0 && login[len(login)-1] != "" {
		if _, err := c.do(append([]string{"AUTH"}, login...)...); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return c, nil
}

// do sends one command and returns its answer as text; elements of an array are separated by line breaks.
func (c *redisConn) do(words ...string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	if err := c.SetDeadline(time.Now().Add(redisTimeout)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c.Conn, b.String()); err != nil {
		return "", err
	}
	return c.reply()
}

func (c *redisConn) reply() (string, error) {
	line, err := c.reader.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimRight(line, "\r\n")
	if line == "" {
		return "", errors.New("an empty line from Redis")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '-':
		return "", replyError(rest)
	case '$', '*':
		count, err := strconv.Atoi(rest)
		if err != nil || count < 0 {
			return "", err
		}
		if kind == '$' {
			text := make([]byte, count+2)
			_, err := io.ReadFull(c.reader, text)
			return string(text[:count]), err
		}
		elements := make([]string, 0, count)
		for range count {
			element, err := c.reply()
			if err != nil {
				return "", err
			}
			elements = append(elements, element)
		}
		return strings.Join(elements, "\n"), nil
	}
	return rest, nil
}

// ask asks one question on a connection of its own.
func ask(address string, login []string, words ...string) (string, error) {
	c, err := dialRedis(address, login...)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	return c.do(words...)
}

// info is what INFO says, by field.
type info map[string]string

func askInfo(address string, login []string) (info, error) {
	text, err := ask(address, login, "INFO", "server", "replication", "keyspace")
	if err != nil {
		return nil, err
	}
	fields := info{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			fields[key] = value
		}
	}
	return fields, nil
}
