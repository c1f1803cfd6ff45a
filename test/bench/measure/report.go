package measure

import (
	"fmt"
	"maps"
	"time"
)

// Report is what one writer, of several clients, saw in a run.
type Report struct {
	// Windows has one for each moment that was asked for.
	Windows []Window
	// Quiet is the longest time without an acknowledgement before the first moment.
	Quiet time.Duration
	// Acked and Confirmed count the writes that the primary acknowledged, and those of them that a replica confirmed.
	Acked, Confirmed int
	Lost             Lost
	Errors           map[Kind]int
	// Found are keys that had to be absent and are there.
	Found []string
}

// Of makes a report of what clients did. Each moment opens a window; the age of lost writes is counted from the faults, which are
// some of the moments. `there` tells of a client's number whether its key is there.
func Of(clients []Client, moments, faults []time.Time, there func(client string, number int) bool) Report {
	report := Report{Windows: Windows(clients, moments), Errors: map[Kind]int{}}
	reached := make([]time.Time, len(faults))
	for i, fault := range faults {
		reached[i] = Moment(clients, fault)
	}
	if len(moments) > 0 {
		report.Quiet = Quiet(clients, Moment(clients, moments[0]))
	}
	for _, client := range clients {
		for _, write := range client.Writes {
			if !write.Acked.IsZero() {
				report.Acked++
			}
			if !write.Confirmed.IsZero() {
				report.Confirmed++
			}
		}
		report.Lost.Add(Verify(client, func(number int) bool { return there(client.Name, number) }, reached))
		report.addErrors(client.Errors)
	}
	return report
}

// Add counts what another writer of the same run saw. The windows stay this writer's.
func (r *Report) Add(other Report) {
	r.Acked += other.Acked
	r.Confirmed += other.Confirmed
	r.Lost.Add(other.Lost)
	r.Errors = maps.Clone(r.Errors)
	r.addErrors(other.Errors)
	r.Found = append(r.Found, other.Found...)
}

func (r *Report) addErrors(errors map[Kind]int) {
	if r.Errors == nil {
		r.Errors = map[Kind]int{}
	}
	for kind, count := range errors {
		r.Errors[kind] += count
	}
}

// Overlap is for how long two sides of a cut both had writes confirmed after it: 0 is what the protocol promises. The old side
// is with the old primary, the new one with the primary that follows.
func Overlap(oldSide, newSide Window) time.Duration {
	if oldSide.LastConfirmed.IsZero() || newSide.FirstConfirmed.IsZero() {
		return 0
	}
	return max(0, oldSide.LastConfirmed.Sub(newSide.FirstConfirmed))
}

func exampleOf(client Client, write Write) string {
	return fmt.Sprintf("%s:%d, acknowledged at %s on connection %d", client.Name, write.Number, write.Acked.Format("15:04:05.000"), write.Link)
}
