package measure

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

const ms = time.Millisecond

// acked is a client whose writes were acknowledged at these milliseconds, all on one connection.
func acked(name string, times ...int) Client {
	client := Client{Name: name, Began: began, Ended: at(1000)}
	for i, t := range times {
		client.Writes = append(client.Writes, Write{Number: i + 1, Link: 1, Acked: at(t)})
	}
	return client
}

func TestQuantile(t *testing.T) {
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(100-i)*ms)
	}
	for _, tc := range []struct {
		values []time.Duration
		q      float64
		want   time.Duration
	}{
		{nil, 0.5, 0},
		{[]time.Duration{7 * ms}, 0.5, 7 * ms},
		{[]time.Duration{3 * ms, 1 * ms, 2 * ms}, 0.5, 2 * ms},
		{[]time.Duration{4 * ms, 1 * ms, 2 * ms, 3 * ms}, 0.5, 2 * ms},
		{[]time.Duration{3 * ms, 1 * ms, 2 * ms}, 1, 3 * ms},
		{[]time.Duration{3 * ms, 1 * ms, 2 * ms}, 0, 1 * ms},
		{hundred, 0.99, 99 * ms},
		{hundred, 0.5, 50 * ms},
	} {
		require.Equal(t, tc.want, Quantile(tc.values, tc.q), "%v of %v", tc.q, tc.values)
	}
}

func TestGapIsOfTheWorstPlainClient(t *testing.T) {
	waiting := acked("w", 100, 900)
	waiting.Waits = true
	clients := []Client{acked("a", 100, 200, 450, 460, 950), acked("b", 100, 190, 600, 700, 980), waiting}
	windows := Windows(clients, []time.Time{at(210)})
	require.Equal(t, 490*ms, windows[0].Gap)
	require.Equal(t, 390*ms, windows[0].Resumed)
	require.Equal(t, 7, windows[0].Acked)
	require.Equal(t, at(450), windows[0].FirstAcked)
	require.Equal(t, at(980), windows[0].LastAcked)
	require.Equal(t, 100*ms, Quiet(clients, at(210)))
}

func TestGapBelongsToTheFaultAfterWhichItEnds(t *testing.T) {
	// The command that made the fault ended at 220 and 520; the servers were gone a little earlier.
	windows := Windows([]Client{acked("a", 100, 200, 300, 400, 500, 650, 990)}, []time.Time{at(220), at(520)})
	require.Equal(t, 100*ms, windows[0].Gap)
	require.Equal(t, 340*ms, windows[1].Gap)
	require.Equal(t, 130*ms, windows[1].Resumed)
}

func TestGapLastsToTheEndIfNothingComes(t *testing.T) {
	windows := Windows([]Client{acked("a", 100)}, []time.Time{at(150)})
	require.Equal(t, 900*ms, windows[0].Gap)
	require.Equal(t, 850*ms, windows[0].Resumed)
	require.Zero(t, windows[0].Acked)
	require.Equal(t, time.Second, Windows([]Client{acked("a")}, []time.Time{at(150)})[0].Gap)
}

func TestVerify(t *testing.T) {
	confirmed := acked("a", 100, 200, 300)
	for i := range confirmed.Writes {
		confirmed.Writes[i].Confirmed = confirmed.Writes[i].Acked
	}
	moved := acked("a", 100, 200, 300)
	moved.Writes[2].Link = 2
	unanswered := acked("a", 100, 200, 300)
	unanswered.Writes[1].Acked = time.Time{}
	for _, tc := range []struct {
		name   string
		client Client
		gone   []int
		want   Lost
	}{
		{"nothing is gone", acked("a", 100, 200, 300), nil, Lost{}},
		{"the last before the fault", acked("a", 100, 200, 300, 410), []int{3, 4}, Lost{Near: 1, After: 1, Oldest: 50 * ms}},
		{"an older one", acked("a", 100, 200, 300), []int{2, 3}, Lost{Near: 1, Older: 1, Oldest: 150 * ms}},
		{"one in the middle, though a later one arrived", acked("a", 100, 200, 300), []int{2}, Lost{Older: 1, Oldest: 150 * ms, Holes: 1}},
		{"the last of a connection, though a later one went to another server", moved, []int{2}, Lost{Older: 1, Oldest: 150 * ms}},
		{"one that was never acknowledged", unanswered, []int{2}, Lost{}},
		{"one that a replica confirmed", confirmed, []int{3}, Lost{Confirmed: 1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gone := map[int]bool{}
			for _, number := range tc.gone {
				gone[number] = true
			}
			got := Verify(tc.client, func(number int) bool { return !gone[number] }, []time.Time{at(350)})
			require.Equal(t, len(tc.gone) > 0 && got.Confirmed+got.Plain() > 0, got.Example != "")
			got.Example = ""
			require.Equal(t, tc.want, got)
		})
	}
}

func TestAgeIsByTheNearestFault(t *testing.T) {
	lost := Verify(acked("a", 100, 480, 560), func(int) bool { return false }, []time.Time{at(110), at(500)})
	require.Equal(t, Lost{Near: 2, After: 1, Oldest: 20 * ms, Example: lost.Example}, lost)
}

func TestMomentIsTheLastAcknowledgementBefore(t *testing.T) {
	clients := []Client{acked("a", 100, 200, 600), acked("b", 150, 205, 700)}
	require.Equal(t, at(205), Moment(clients, at(300)))
	require.Equal(t, at(50), Moment(clients, at(50)))
}

func TestReport(t *testing.T) {
	plain, waiting := acked("a", 100, 200, 600), acked("w", 110, 210, 610)
	plain.Errors = map[Kind]int{Closed: 1, Refused: 3}
	waiting.Waits, waiting.Errors = true, map[Kind]int{Closed: 1}
	waiting.Writes[0].Confirmed = at(111)
	report := Of([]Client{plain, waiting}, []time.Time{at(300), at(700)}, []time.Time{at(300)}, func(client string, number int) bool { return client == "w" || number != 2 })
	require.Equal(t, 6, report.Acked)
	require.Equal(t, 1, report.Confirmed)
	require.Equal(t, 1, report.Lost.Near)
	require.Equal(t, map[Kind]int{Closed: 2, Refused: 3}, report.Errors)
	require.Equal(t, 400*ms, report.Windows[0].Gap)
	require.Equal(t, 100*ms, report.Quiet)

	other := Report{Acked: 4, Errors: map[Kind]int{Refused: 1}, Lost: Lost{Near: 1, Example: "x"}, Found: []string{"stale"}}
	report.Add(other)
	require.Equal(t, 10, report.Acked)
	require.Equal(t, 2, report.Lost.Near)
	require.Equal(t, 4, report.Errors[Refused])
	require.Equal(t, 1, other.Errors[Refused])
	require.Equal(t, []string{"stale"}, report.Found)
}

func TestOverlap(t *testing.T) {
	require.Zero(t, Overlap(Window{}, Window{FirstConfirmed: at(1)}))
	require.Zero(t, Overlap(Window{LastConfirmed: at(5)}, Window{}))
	require.Zero(t, Overlap(Window{LastConfirmed: at(5)}, Window{FirstConfirmed: at(9)}))
	require.Equal(t, 4*ms, Overlap(Window{LastConfirmed: at(9)}, Window{FirstConfirmed: at(5)}))
}

func TestKinds(t *testing.T) {
	for reply, want := range map[string]Kind{
		"-READONLY You can't write against a read only replica.": ReadOnly,
		"-MASTERDOWN Link with MASTER is down":                   MasterDown,
		"-NOREPLICAS Not enough good replicas to write.":         NoReplicas,
		"-LOADING Redis is loading the dataset in memory":        Loading,
		"-ERR WAIT cannot be used with replica instances.":       Other,
		"-closed": Other,
	} {
		require.Equal(t, want, KindOfReply(reply), reply)
	}
	for _, tc := range []struct {
		err  error
		want Kind
	}{
		{io.EOF, Closed},
		{fmt.Errorf("read: %w", syscall.ECONNRESET), Closed},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, Refused},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EHOSTUNREACH)}, Unreachable},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, Timeout},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, Timeout},
		{errors.New("what?"), Other},
	} {
		require.Equal(t, tc.want, KindOfError(tc.err), tc.err)
	}
}
