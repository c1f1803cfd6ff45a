package redis

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	// maxReply is the most that a reply may take, in bytes. The longest that the operator asks for, INFO, is some KiB.
	maxReply = 1 << 20
	// maxElements limits arrays and maps: elements of one, and how many of them in one reply.
	maxElements = 4096
)

// guard watches the headers of RESP replies pass by (redis.io/docs/latest/develop/reference/protocol-spec). rueidis allocates
// what a header announces before the data is there (resp.go: readB, readA), so a server could exhaust the operator's memory with
// a dozen bytes. The zero guard lets nothing pass.
type guard struct {
	// allowance is how many bytes may still come.
	allowance int
	// skip is how many bytes of a bulk string are still to come, with its final CR LF.
	skip int
	// header is the line begun, as far as it is of interest.
	header []byte
	// aggregates counts the arrays and maps so far.
	aggregates int
}

func (g *guard) inspect(data []byte) error {
	if len(data) > g.allowance {
		return errors.New("the server sent more than was asked for")
	}
	g.allowance -= len(data)
	for len(data) > 0 {
		if g.skip > 0 {
			passed := min(g.skip, len(data))
			g.skip -= passed
			data = data[passed:]
			continue
		}
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		// 32 bytes are more than any announced length needs; the rest of a longer line is text.
		g.header = append(g.header, line[:min(len(line), 32-len(g.header))]...)
		if !complete {
			return nil
		}
		if err := g.judge(); err != nil {
			return err
		}
		g.header = g.header[:0]
		data = rest
	}
	return nil
}

// judge looks at a complete header line, such as "$12".
func (g *guard) judge() error {
	line := bytes.TrimSuffix(g.header, []byte("\r"))
	if len(line) == 0 {
		return errors.New("the server sent an empty line")
	}
	switch line[0] {
	case '$', '=', '!':
		size, err := announced(line, maxReply)
		if err != nil {
			return err
		}
		if size >= 0 {
			g.skip = size + len("\r\n")
		}
	case '*', '%', '~', '>', '|':
		g.aggregates++
		if _, err := announced(line, maxElements); err != nil {
			return err
		}
		if g.aggregates > maxElements {
			return errors.New("the server sent a reply of too many parts")
		}
	case ';':
		return errors.New("the server sent a string of unknown length")
	}
	return nil
}

// announced is the length in a header; -1 is RESP2's null.
func announced(line []byte, most int) (int, error) {
	size, err := strconv.Atoi(string(line[1:]))
	if err != nil || size < -1 || size > most {
		return 0, fmt.Errorf("the server announced a reply of unacceptable length %q", line)
	}
	return size, nil
}
