package measure

import (
	"slices"
	"time"
)

// Near is how close to a fault a plain write may have been acknowledged to count as in flight: replication is asynchronous, and
// a client reads a last acknowledgement a moment after its server has died.
const Near = 50 * time.Millisecond

// Lost counts acknowledged writes that are gone.
type Lost struct {
	// Confirmed are those that a replica had confirmed.
	Confirmed int
	// The plain ones by when they were acknowledged: close to the fault, longer before, and longer after it, by a primary that
	// went on while it was being replaced.
	Near, Older, After int
	// Oldest is how long before the fault the oldest plain one was acknowledged.
	Oldest time.Duration
	// Holes are lost writes after which the same server acknowledged another that is there: replication kept no order.
	Holes int
	// Example is one of them, for people.
	Example string
}

// Plain are all but the confirmed.
func (l Lost) Plain() int { return l.Near + l.Older + l.After }

// Add counts those of another client too.
func (l *Lost) Add(other Lost) {
	l.Confirmed += other.Confirmed
	l.Near += other.Near
	l.Older += other.Older
	l.After += other.After
	l.Oldest = max(l.Oldest, other.Oldest)
	l.Holes += other.Holes
	if l.Example == "" {
		l.Example = other.Example
	}
}

// Verify counts what of a client's acknowledged writes is gone. `there` tells whether a key is there with its own number;
// moments are the faults, in order, each as the clients saw it (see Moment).
func Verify(client Client, there func(number int) bool, moments []time.Time) Lost {
	var lost Lost
	// From the newest to the oldest: whether a later write of the same connection is there is then known.
	laterThere := map[int]bool{}
	for _, write := range slices.Backward(client.Writes) {
		if write.Acked.IsZero() {
			continue
		}
		if there(write.Number) {
			laterThere[write.Link] = true
			continue
		}
		if laterThere[write.Link] {
			lost.Holes++
		}
		lost.Example = exampleOf(client, write)
		if !write.Confirmed.IsZero() {
			lost.Confirmed++
			continue
		}
		switch before := beforeFault(write.Acked, moments); {
		case before < -Near:
			lost.After++
		case before <= Near:
			lost.Near++
			lost.Oldest = max(lost.Oldest, before)
		default:
			lost.Older++
			lost.Oldest = max(lost.Oldest, before)
		}
	}
	return lost
}

// beforeFault is how long before the nearest fault a write was acknowledged; negative if after it.
func beforeFault(acked time.Time, moments []time.Time) time.Duration {
	var nearest time.Duration
	for i, moment := range moments {
		if before := moment.Sub(acked); i == 0 || before.Abs() < nearest.Abs() {
			nearest = before
		}
	}
	return nearest
}

// Moment is when a fault reached the clients: what is known of it may be some time later, as a command takes its time to end.
// Whatever was acknowledged last before that is the best that is known.
func Moment(clients []Client, known time.Time) time.Time {
	var last time.Time
	for _, client := range clients {
		for _, write := range client.Writes {
			if !write.Acked.After(known) && write.Acked.After(last) {
				last = write.Acked
			}
		}
	}
	if last.IsZero() {
		return known
	}
	return last
}
