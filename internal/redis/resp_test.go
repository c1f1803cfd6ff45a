package redis

import (
	"errors"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// read reads all replies of a question's answer.
func read(from io.Reader) ([]reply, error) {
	server := newReplies(from)
	if err := server.await(); err != nil {
		return nil, err
	}
	var all []reply
	for {
		r, err := server.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
}

func text(s string) reply { return reply{kind: kindString, text: s} }

func TestRepliesAreRead(t *testing.T) {
	long := strings.Repeat("0123456789", 3000)
	for name, tc := range map[string]struct {
		sent string
		want []reply
	}{
		"a status":        {"+OK\r\n", []reply{{kind: kindStatus, text: "OK"}}},
		"an empty status": {"+\r\n", []reply{{kind: kindStatus}}},
		"a long status":   {"+" + long + "\r\n", []reply{{kind: kindStatus, text: long}}},
		"an error":        {"-LOADING wait\r\n", []reply{{kind: kindError, text: "LOADING wait"}}},
		"an integer":      {":-7\r\n", []reply{{kind: kindInteger, text: "-7"}}},
		"a string":        {"$7\r\n*9\r\n$9\n\r\n", []reply{text("*9\r\n$9\n")}},
		"a long string":   {"$30000\r\n" + long + "\r\n", []reply{text(long)}},
		"nulls":           {"$-1\r\n*-1\r\n", []reply{{}, {}}},
		"empty ones":      {"$0\r\n\r\n*0\r\n", []reply{text(""), {kind: kindArray}}},
		"an array": {"*3\r\n$1\r\na\r\n*1\r\n-no\r\n$-1\r\n",
			[]reply{{kind: kindArray, elements: []reply{text("a"), {kind: kindArray, elements: []reply{{kind: kindError, text: "no"}}}, {}}}}},
		"a pipeline": {"+a\r\n-b\r\n$1\r\nc\r\n", []reply{{kind: kindStatus, text: "a"}, {kind: kindError, text: "b"}, text("c")}},
	} {
		t.Run(name, func(t *testing.T) {
			whole, err := read(strings.NewReader(tc.sent))
			require.NoError(t, err)
			assert.Equal(t, tc.want, whole)
			pieces, err := read(iotest.OneByteReader(strings.NewReader(tc.sent)))
			require.NoError(t, err)
			assert.Equal(t, tc.want, pieces)
		})
	}
}

func TestWhatIsNoReplyIsRefused(t *testing.T) {
	half := "$" + strconv.Itoa(maxReply/2) + "\r\n" + strings.Repeat("x", maxReply/2) + "\r\n"
	for name, tc := range map[string]struct{ sent, want string }{
		"an empty line":                   {"\r\n", "no reply"},
		"RESP3: a map":                    {"%1\r\n+a\r\n+b\r\n", "no reply"},
		"RESP3: a push":                   {">1\r\n+a\r\n", "no reply"},
		"RESP3: null":                     {"_\r\n", "no reply"},
		"an unknown type":                 {"?what\r\n", "no reply"},
		"a line that ends in LF alone":    {"+OK\n", "no reply"},
		"an integer that is none":         {":12z\r\n", "no reply"},
		"a string that is longer":         {"$2\r\nabc\r\n", "no reply"},
		"a string longer than any reply":  {"$1048577\r\n", "unacceptable length"},
		"a length that is no number":      {"$12z\r\n", "unacceptable length"},
		"a negative length":               {"$-7\r\n", "unacceptable length"},
		"a length that overflows":         {"$99999999999999999999999999999999999999999999\r\n", "unacceptable length"},
		"a string of unknown length":      {"$?\r\n", "unacceptable length"},
		"an array of too many elements":   {"*1000000\r\n", "unacceptable length"},
		"arrays in arrays without end":    {strings.Repeat("*1\r\n", maxDepth+1), "nested too deep"},
		"more than may come in one line":  {"+" + strings.Repeat("x", maxReply), "more than was asked"},
		"more than may come in one reply": {"*2\r\n" + half + half, "more than was asked"},
		"more than may come in all":       {half + half, "more than was asked"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(strings.NewReader(tc.sent))
			require.ErrorContains(t, err, tc.want)
			_, err = read(iotest.OneByteReader(strings.NewReader(tc.sent)))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestMemoryIsTakenAsTheBytesArrive(t *testing.T) {
	const count = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range count {
		_, err := read(strings.NewReader("*4096\r\n$1048000\r\nx"))
		require.NoError(t, err, "the end of the connection")
	}
	runtime.ReadMemStats(&after)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/count, uint64(16<<10))
}

func TestReplyIsWhatWasExpected(t *testing.T) {
	_, err := reply{kind: kindInteger, text: "1"}.toText()
	require.Error(t, err)
	_, err = reply{}.toText()
	require.Error(t, err)
	_, err = text("1").toInteger()
	require.Error(t, err)
	assert.Empty(t, text("a").toPairs())
	odd := reply{kind: kindArray, elements: []reply{text("a"), text("b"), text("c")}}
	assert.Equal(t, map[string]string{"a": "b"}, odd.toPairs())
}

// FuzzReplies: whatever a server sends is read the same in one piece and in many, and without harm; what was read can be written
// and read again.
func FuzzReplies(f *testing.F) {
	for _, seed := range []string{
		"+OK\r\n", "-ERR no\r\n", ":1\r\n", "$2\r\nhi\r\n", "$-1\r\n", "*-1\r\n", "*2\r\n$1\r\na\r\n*0\r\n", "*1\r\n*1\r\n*1\r\n:0\r\n",
		"%1\r\n+a\r\n+b\r\n", "$1048577\r\n", "*9999999\r\n", "+OK", "\r\n", "$3\r\nab\r\n", "*4096\r\n", ":+1\r\n", "$+1\r\na\r\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		whole, err := read(strings.NewReader(sent))
		pieces, pieceErr := read(iotest.OneByteReader(strings.NewReader(sent)))
		assert.Equal(t, err, pieceErr)
		assert.Equal(t, whole, pieces)
		var again strings.Builder
		for _, r := range whole {
			write(&again, r)
		}
		if len(whole) == 0 || again.Len() > maxReply {
			return
		}
		reread, err := read(strings.NewReader(again.String()))
		require.NoError(t, err)
		assert.Equal(t, whole, reread)
	})
}

func write(b *strings.Builder, r reply) {
	switch r.kind {
	case kindNull:
		b.WriteString("$-1\r\n")
	case kindString:
		b.WriteString("$" + strconv.Itoa(len(r.text)) + "\r\n" + r.text + "\r\n")
	case kindArray:
		b.WriteString("*" + strconv.Itoa(len(r.elements)) + "\r\n")
		for _, element := range r.elements {
			write(b, element)
		}
	default:
		b.WriteString(string(r.kind) + r.text + "\r\n")
	}
}
