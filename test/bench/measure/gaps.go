package measure

import (
	"slices"
	"time"
)

// Window is what the clients saw from one fault to the next, or to the end.
type Window struct {
	From time.Time
	// Gap is the longest time that a plain client was without an acknowledgement, of the worst of them. It belongs to the window
	// in which it ended: an outage begins a little before the moment that is known of the fault.
	Gap time.Duration
	// Resumed is how long after the beginning the last of the plain clients got its first acknowledgement.
	Resumed time.Duration

	// What all clients together got in this window; the times are zero where there was nothing.
	Acked, Confirmed              int
	FirstAcked, LastAcked         time.Time
	FirstConfirmed, LastConfirmed time.Time
}

// Quiet is the longest time that a plain client was without an acknowledgement before a moment: the machine's own noise.
func Quiet(clients []Client, until time.Time) time.Duration {
	var longest time.Duration
	for _, client := range clients {
		for _, gap := range gapsOf(client) {
			if !client.Waits && !gap.to.After(until) {
				longest = max(longest, gap.to.Sub(gap.from))
			}
		}
	}
	return longest
}

// Windows tells what the clients saw after each of the moments, which are in order.
func Windows(clients []Client, moments []time.Time) []Window {
	windows := make([]Window, len(moments))
	for i, from := range moments {
		to := time.Time{}
		if i+1 < len(moments) {
			to = moments[i+1]
		}
		windows[i] = windowOf(clients, from, to)
	}
	return windows
}

// windowOf goes to the end if `to` is zero.
func windowOf(clients []Client, from, to time.Time) Window {
	in := func(t time.Time) bool { return t.After(from) && (to.IsZero() || !t.After(to)) }
	w := Window{From: from}
	for _, client := range clients {
		if !client.Waits {
			w.Gap = max(w.Gap, longestIn(client, in))
			w.Resumed = max(w.Resumed, resumed(client, from))
		}
		for _, write := range client.Writes {
			if !write.Acked.IsZero() && in(write.Acked) {
				w.Acked++
				widen(&w.FirstAcked, &w.LastAcked, write.Acked)
			}
			if !write.Confirmed.IsZero() && in(write.Confirmed) {
				w.Confirmed++
				widen(&w.FirstConfirmed, &w.LastConfirmed, write.Confirmed)
			}
		}
	}
	return w
}

func widen(first, last *time.Time, t time.Time) {
	if first.IsZero() || t.Before(*first) {
		*first = t
	}
	if t.After(*last) {
		*last = t
	}
}

type gap struct{ from, to time.Time }

// gapsOf are the times between acknowledgements that follow one another, from when the client began to when it ended.
func gapsOf(client Client) []gap {
	var gaps []gap
	last := client.Began
	for _, write := range client.Writes {
		if !write.Acked.IsZero() {
			gaps = append(gaps, gap{last, write.Acked})
			last = write.Acked
		}
	}
	return append(gaps, gap{last, client.Ended})
}

func longestIn(client Client, in func(time.Time) bool) time.Duration {
	var longest time.Duration
	for _, gap := range gapsOf(client) {
		if in(gap.to) {
			longest = max(longest, gap.to.Sub(gap.from))
		}
	}
	return longest
}

// resumed is how long after a moment the client got its next acknowledgement, or ended.
func resumed(client Client, from time.Time) time.Duration {
	for _, write := range client.Writes {
		if write.Acked.After(from) {
			return write.Acked.Sub(from)
		}
	}
	return client.Ended.Sub(from)
}

// Quantile is the smallest of the values that at least the share q of them do not exceed; 0 of none.
func Quantile(values []time.Duration, q float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(q * float64(len(sorted)))
	if float64(rank) < q*float64(len(sorted)) {
		rank++
	}
	return sorted[min(max(rank, 1), len(sorted))-1]
}
