package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"example.com/redis-operator/test/bench/measure"
)

// row is what the runs of one fault have come to.
type row struct {
	fault *fault
	runs  int
	gaps  []time.Duration
	lost  measure.Lost
	// errors are of all runs together.
	errors map[measure.Kind]int
	// notes count what was not as expected.
	notes map[string]int
	// broken tells that a promise was.
	broken bool
}

func (r *row) add(one result) {
	r.runs++
	r.gaps = append(r.gaps, one.gaps...)
	r.lost.Add(one.report.Lost)
	if r.errors == nil {
		r.errors = map[measure.Kind]int{}
	}
	for kind, count := range one.report.Errors {
		r.errors[kind] += count
	}
	for _, note := range slices.Concat(one.problems, one.broken) {
		r.note(note)
	}
	r.broken = r.broken || len(one.broken) > 0 || one.report.Lost.Confirmed > 0 && !r.fault.loses
}

func (r *row) note(note string) {
	if r.notes == nil {
		r.notes = map[string]int{}
	}
	r.notes[note]++
}

func (r *row) usual() time.Duration { return measure.Quantile(r.gaps, 0.5) }

func (r *row) far() time.Duration {
	if q := r.fault.farQuantile; q > 0 {
		return measure.Quantile(r.gaps, q)
	}
	return measure.Quantile(r.gaps, 1)
}

func (r *row) missed() bool { return r.usual() > r.fault.bar.usual || r.far() > r.fault.bar.far }

const (
	tableHead = "| fault | runs | gap p50 | max | bar | W lost | A lost | errors of all clients | notes | version |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n"
	blockBegin = "<!-- bench: begin; make bench writes what is between these lines -->\n"
	blockEnd   = "<!-- bench: end -->\n"
)

// line is the row as a line of a table in Markdown.
func (r *row) line(version string) string {
	far := text(measure.Quantile(r.gaps, 1))
	if q := r.fault.farQuantile; q > 0 {
		far = fmt.Sprintf("%s (p%.0f %s)", far, 100*q, text(r.far()))
	}
	bar := text(r.fault.bar.usual) + " / " + text(r.fault.bar.far)
	if r.missed() {
		bar += ", **missed**"
	}
	cells := []string{
		r.fault.name, fmt.Sprint(r.runs), text(r.usual()), far, bar, r.confirmedLost(), plainLost(r.lost), errorsText(r.errors), r.notesText(), version,
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

func (r *row) confirmedLost() string {
	switch {
	case r.fault.loses:
		return fmt.Sprintf("%d, as must be", r.lost.Confirmed)
	case r.lost.Confirmed > 0:
		return fmt.Sprintf("**%d**", r.lost.Confirmed)
	}
	return "0"
}

func plainLost(lost measure.Lost) string {
	if lost.Plain() == 0 {
		return "0"
	}
	var parts []string
	for _, part := range []struct {
		count int
		what  string
	}{
		{lost.Near, fmt.Sprintf("within %s of the fault", text(measure.Near))},
		{lost.Older, "older, up to " + text(lost.Oldest)},
		{lost.After, "after it"},
		{lost.Holes, "out of order"},
	} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.what))
		}
	}
	return fmt.Sprintf("%d: %s", lost.Plain(), strings.Join(parts, ", "))
}

func errorsText(errors map[measure.Kind]int) string {
	var parts []string
	for _, kind := range measure.Kinds {
		if errors[kind] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", kind, errors[kind]))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func (r *row) notesText() string {
	var parts []string
	for _, note := range slices.Sorted(maps.Keys(r.notes)) {
		if count := r.notes[note]; count > 1 {
			note = fmt.Sprintf("%s (%d times)", note, count)
		}
		parts = append(parts, strings.NewReplacer("|", "/", "\n", " ").Replace(note))
	}
	return strings.Join(parts, "; ")
}

// text has milliseconds below ten seconds.
func text(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond)/time.Millisecond)
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// updated puts new lines into a document's block, in the order of the faults. Lines of faults that were not measured now stay.
func updated(document string, faults []*fault, lines map[string]string) (string, error) {
	before, rest, found := strings.Cut(document, blockBegin)
	block, after, ended := strings.Cut(rest, blockEnd)
	if !found || !ended {
		return "", errors.New("the document has no block for the table")
	}
	kept := map[string]string{}
	for line := range strings.Lines(block) {
		if cells := strings.Split(line, " | "); len(cells) > 2 {
			kept[strings.TrimPrefix(cells[0], "| ")] = line
		}
	}
	maps.Copy(kept, lines)
	var table strings.Builder
	table.WriteString(tableHead)
	for _, f := range faults {
		table.WriteString(kept[f.name])
	}
	return before + blockBegin + "\n" + table.String() + "\n" + blockEnd + after, nil
}
