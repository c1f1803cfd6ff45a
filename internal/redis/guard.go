package redis

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	// maxReply is the most that the replies to one question may take, in bytes. The longest, INFO, is some KiB.
	maxReply = 1 << 20
	// maxElements limits the elements of an array or map; maxDepth how deep they may be nested.
	maxElements = 4096
	maxDepth    = 8
)

var errUnasked = errors.New("the server sent more than was asked for")

// guard watches the awaited replies pass by and refuses what rueidis cannot take from a server that means harm: a header that
// announces more than a reply can hold (resp.go allocates it before the data is there), nesting without end, and anything after
// the last reply (pipe.go panics, in a goroutine of its own). The zero guard lets nothing pass.
//
// See redis.io/docs/latest/develop/reference/protocol-spec for the format.
type guard struct {
	// awaited is how many replies are not complete yet.
	awaited int
	// size is how many bytes have come, of all replies together.
	size int
	// header is the line begun, as far as it is of interest.
	header []byte
	// body is how many bytes of a string are still to come, with its final CR LF.
	body int
	// open are the arrays and maps begun, outermost first, by how many elements are missing.
	open []int
}

func (g *guard) inspect(data []byte) error {
	g.size += len(data)
	for len(data) > 0 {
		if g.awaited == 0 || g.size > maxReply {
			return errUnasked
		}
		if g.body > 0 {
			passed := min(g.body, len(data))
			data = data[passed:]
			if g.body -= passed; g.body == 0 {
				g.valueEnds()
			}
			continue
		}
		line, rest, complete := bytes.Cut(data, []byte("\n"))
		// 32 bytes are more than any length needs; the rest of a longer line is text.
		g.header = append(g.header, line[:min(len(line), 32-len(g.header))]...)
		if !complete {
			return nil
		}
		if err := g.begin(bytes.TrimSuffix(g.header, []byte("\r"))); err != nil {
			return err
		}
		g.header = g.header[:0]
		data = rest
	}
	return nil
}

// begin takes a complete line: a value of its own, or the header of a longer one, such as "$12".
func (g *guard) begin(line []byte) error {
	if len(line) == 0 {
		return errors.New("the server sent an empty line")
	}
	switch line[0] {
	case '$', '=', '!':
		return g.beginString(line)
	case '*', '~':
		return g.beginElements(line, 1)
	case '%':
		return g.beginElements(line, 2)
	case '+', '-', ':', '_', ',', '#', '(':
		g.valueEnds()
		return nil
	}
	return fmt.Errorf("the server sent something unexpected that begins %q", line[0])
}

func (g *guard) beginString(line []byte) error {
	size, err := announced(line, maxReply)
	if err != nil {
		return err
	}
	if size < 0 {
		g.valueEnds()
		return nil
	}
	g.body = size + len("\r\n")
	return nil
}

func (g *guard) beginElements(line []byte, each int) error {
	count, err := announced(line, maxElements)
	if err != nil {
		return err
	}
	if count <= 0 {
		g.valueEnds()
		return nil
	}
	if len(g.open) == maxDepth {
		return errors.New("the server sent a reply that is nested too deep")
	}
	g.open = append(g.open, count*each)
	return nil
}

// valueEnds counts a complete value where it belongs; the outermost completes a reply.
func (g *guard) valueEnds() {
	for last := len(g.open) - 1; last >= 0; last-- {
		if g.open[last]--; g.open[last] > 0 {
			return
		}
		g.open = g.open[:last]
	}
	g.awaited--
}

// announced is the length in a header; -1 is RESP2's null.
func announced(line []byte, most int) (int, error) {
	size, err := strconv.Atoi(string(line[1:]))
	if err != nil || size < -1 || size > most {
		return 0, fmt.Errorf("the server announced a reply of unacceptable length %q", line)
	}
	return size, nil
}
