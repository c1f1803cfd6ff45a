package redis

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// maxReply is the most that the replies to one question may take, in bytes. The longest, INFO, is some KiB.
	maxReply = 1 << 20
	// maxElements limits the elements of an array; maxDepth how deep arrays may be nested.
	maxElements = 4096
	maxDepth    = 8
	// readBuffer is of each connection, in bytes. Strings longer than that are read past it.
	readBuffer = 512
	// firstPiece is the most that a string gets before its bytes are there, whatever length was announced.
	firstPiece = 4 << 10
)

var (
	errUnasked   = errors.New("the server sent more than was asked for")
	errMalformed = errors.New("the server sent what is no reply of this protocol (RESP2)")
)

// appendCommand adds a command to a request: an array of strings.
func appendCommand(request []byte, words []string) []byte {
	request = fmt.Appendf(request, "*%d\r\n", len(words))
	for _, word := range words {
		request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(word), word)
	}
	return request
}

// kind is what a reply is: the byte that it begins with.
type kind byte

const (
	kindStatus  kind = '+'
	kindError   kind = '-'
	kindInteger kind = ':'
	kindString  kind = '$'
	kindArray   kind = '*'
	// kindNull is a string or an array of the length -1.
	kindNull kind = 0
)

// reply is a server's answer to one command, or an element of it.
type reply struct {
	kind kind
	// text is that of a status, an error or a string, and the digits of an integer.
	text string
	// elements are those of an array.
	elements []reply
}

// toText is the text of a status or a string.
func (r reply) toText() (string, error) {
	if r.kind != kindStatus && r.kind != kindString {
		return "", errors.New("the server answered with something else than text")
	}
	return r.text, nil
}

func (r reply) toInteger() (int64, error) {
	if r.kind != kindInteger {
		return 0, errors.New("the server answered with something else than a number")
	}
	return strconv.ParseInt(r.text, 10, 64)
}

// toPairs reads an array of names, each followed by its value; anything else has no pairs.
func (r reply) toPairs() map[string]string {
	pairs := make(map[string]string, len(r.elements)/2)
	for i := 0; i+1 < len(r.elements); i += 2 {
		pairs[r.elements[i].text] = r.elements[i+1].text
	}
	return pairs
}

// replies reads what a server sends, and trusts none of it: which image runs in a pod is up to its owner. What is no reply, or more
// than a reply may be, is an error, after which nothing can be read any more. The errors do not quote the server, which has been
// told passwords.
//
// See redis.io/docs/latest/develop/reference/protocol-spec for the format.
type replies struct {
	from *bufio.Reader
	// left is how many bytes the server may still send.
	left int
}

func newReplies(from io.Reader) *replies {
	return &replies{from: bufio.NewReaderSize(from, readBuffer)}
}

// await returns once the server has sent something, or cannot any more. What follows has maxReply bytes.
func (s *replies) await() error {
	_, err := s.from.Peek(1)
	s.left = maxReply
	return err
}

// more tells whether something is there that was not read. It never waits.
func (s *replies) more() bool { return s.from.Buffered() > 0 }

// next reads one reply.
func (s *replies) next() (reply, error) { return s.value(maxDepth) }

// value reads a reply or an element, in which arrays may be nested this deep.
func (s *replies) value(depth int) (reply, error) {
	line, err := s.line()
	if err != nil {
		return reply{}, err
	}
	if line == "" {
		return reply{}, errMalformed
	}
	r := reply{kind: kind(line[0]), text: line[1:]}
	switch r.kind {
	case kindStatus, kindError:
		return r, nil
	case kindInteger:
		if _, err := strconv.ParseInt(r.text, 10, 64); err != nil {
			return reply{}, errMalformed
		}
		return r, nil
	case kindString:
		return s.text(r.text)
	case kindArray:
		return s.array(r.text, depth)
	default:
		return reply{}, errMalformed
	}
}

// line reads a line, without its end.
func (s *replies) line() (string, error) {
	var line []byte
	for {
		part, err := s.from.ReadSlice('\n')
		if !s.spend(len(part)) {
			return "", errUnasked
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return "", err
		}
		text, ok := strings.CutSuffix(string(line), "\r\n")
		if !ok {
			return "", errMalformed
		}
		return text, nil
	}
}

// text reads the body of a string. Memory is taken as the bytes arrive.
func (s *replies) text(announced string) (reply, error) {
	size, err := length(announced, maxReply)
	if err != nil || size < 0 {
		return reply{}, err
	}
	size += len("\r\n")
	if !s.spend(size) {
		return reply{}, errUnasked
	}
	var body bytes.Buffer
	body.Grow(min(size, firstPiece) + bytes.MinRead)
	if _, err := io.CopyN(&body, s.from, int64(size)); err != nil {
		return reply{}, err
	}
	text, ok := bytes.CutSuffix(body.Bytes(), []byte("\r\n"))
	if !ok {
		return reply{}, errMalformed
	}
	return reply{kind: kindString, text: string(text)}, nil
}

func (s *replies) array(announced string, depth int) (reply, error) {
	count, err := length(announced, maxElements)
	if err != nil || count < 0 {
		return reply{}, err
	}
	if depth == 0 && count > 0 {
		return reply{}, errors.New("the server sent a reply that is nested too deep")
	}
	r := reply{kind: kindArray}
	for range count {
		element, err := s.value(depth - 1)
		if err != nil {
			return reply{}, err
		}
		r.elements = append(r.elements, element)
	}
	return r, nil
}

// spend takes bytes off what the server may send.
func (s *replies) spend(count int) bool {
	s.left -= count
	return s.left >= 0
}

// length is the one that a header announces; -1 is null.
func length(announced string, most int) (int, error) {
	size, err := strconv.Atoi(announced)
	if err != nil || size < -1 || size > most {
		return 0, errors.New("the server announced a reply of unacceptable length")
	}
	return size, nil
}
