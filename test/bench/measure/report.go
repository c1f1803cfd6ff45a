package measure

import (
	"fmt"
	"maps"
	"time"
)

// Report is what one writer, of several clients, saw in a run.
type Report struct {
	// Windows has one for each fault.
	Windows []Window
	// Quiet is the longest time without an acknowledgement before the first fault.
	Quiet time.Duration
	// Acked and Confirmed count the writes that the primary acknowledged, and those of them that a replica confirmed.
	Acked, Confirmed int
	Lost             Lost
	Errors           map[Kind]int
	// Found are keys that had to be absent and are there.
	Found []string
}

// Of makes a report of what clients did; `there` tells of a client's number whether its key is there.
func Of(clients []Client, faults []time.Time, there func(client string, number int) bool) Report {
	report := Report{Windows: Windows(clients, faults), Errors: map[Kind]int{}}
	moments := make([]time.Time, len(faults))
	for i, fault := range faults {
		moments[i] = Moment(clients, fault)
	}
	if len(faults) > 0 {
		report.Quiet = Quiet(clients, moments[0])
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
		report.Lost.Add(Verify(client, func(number int) bool { return there(client.Name, number) }, moments))
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
