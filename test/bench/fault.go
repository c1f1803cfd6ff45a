package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/test/bench/measure"
)

// fault is what is done to a Redis under load, again and again.
type fault struct {
	name string
	// says what it is, in a line.
	says string
	bar  bar
	// strike does it once, and returns when what it leads to has come about.
	strike func(ctx context.Context, r *run) error
	// after, if given, makes the resource again as the next run needs it.
	after func(ctx context.Context, r *run) error

	// size and policy of the resource; 3 and Safe if not given.
	size   int32
	policy cachev1.FailoverPolicy
	// runs is how often it is done if nobody says; 0 is the usual number.
	runs int
	// pace is from one write of a client to the next; 1 ms if not given, and longer where a run lasts minutes, for the memory's sake.
	pace time.Duration
	// local tells that it takes the machine's own cluster: no API server cuts a cable.
	local bool
	// unconfirmed tells that there are no replicas to confirm writes at the beginning or at the end.
	unconfirmed bool
	// loses tells that nothing can survive it.
	loses bool
	// resumed tells that the gap counts from the last moment on: what was before had to be waited for.
	resumed bool
	// each tells that every moment of a run gives a gap of its own; else the longest of a run counts.
	each bool
	// farQuantile is what the bar's second number is of; 1, the longest, if not given.
	farQuantile float64
}

// bar is what the gap is held against: the usual one (p50) and the far one (the longest, or p99).
type bar struct{ usual, far time.Duration }

var (
	// crashBar is of a death that is certain; plannedBar is of all that is foreseen.
	crashBar   = bar{200 * time.Millisecond, time.Second}
	plannedBar = bar{150 * time.Millisecond, 500 * time.Millisecond}
	// silenceBar is of a primary that is only silent: failover.timeoutSeconds, the max lag after which it stops by itself, and 3 s.
	silenceBar = bar{failoverTimeout + maxLag + 3*time.Second, failoverTimeout + maxLag + 3*time.Second}
)

// What the operator derives from spec.failover as it is by default; see docs/design/failover.md.
const (
	failoverTimeout = 5 * time.Second
	maxLag          = failoverTimeout - 2*time.Second
)

// stage is where a fault happens: a resource, and outposts on all nodes.
type stage struct {
	*redis
	kube     *cluster
	outposts *outposts
	fault    *fault
	undo     *undos
	// writing are the writers whose processes have not been ended.
	writing  []*writer
	settings settings
}

// run is one time.
type run struct {
	*stage
	number int
	// primary and replicas are as they were before.
	primary  *corev1.Pod
	replicas []*corev1.Pod
	// node is where the writer is: one that the fault spares.
	node string
	// writer is the one whose gaps count; besides there may be one on the old primary's side of a cut.
	writer, oldSide *writer
	// moments are when the fault happened; each opens a window of the report.
	moments []time.Time
	// absent are keys that must not come to light.
	absent []string
	// problems are expectations that were not met, for people to read; broken ones are promises.
	problems, broken []string
}

// result is what is left of a run.
type result struct {
	gaps     []time.Duration
	report   *measure.Report
	problems []string
	broken   []string
}

// now notes this moment as one of the fault.
func (r *run) now() { r.moments = append(r.moments, time.Now()) }

// unmet notes an expectation that was not met.
func (r *run) unmet(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// once lets the fault happen once. If it does not come to its end, there is a result all the same if the keys can be verified.
func (s *stage) once(ctx context.Context, number int) (result, error) {
	r := &run{stage: s, number: number}
	if err := r.begin(ctx); err != nil {
		return result{}, fmt.Errorf("before the fault: %w", err)
	}
	struck := s.fault.strike(ctx, r)
	if err := afterwards(ctx, s.undo.all); err != nil {
		struck = errors.Join(struck, fmt.Errorf("undo the fault: %w", err))
	}
	if struck == nil {
		struck = r.recovered(ctx)
	}
	report, err := r.finish(ctx)
	if err != nil {
		return result{}, errors.Join(struck, fmt.Errorf("verify the keys: %w", err))
	}
	done := result{gaps: r.gaps(report), report: report, problems: r.problems, broken: r.broken}
	if struck != nil {
		return done, struck
	}
	if s.fault.after != nil {
		if err := s.fault.after(ctx, r); err != nil {
			return done, fmt.Errorf("before the next run: %w", err)
		}
	}
	if err := s.renew(ctx); err != nil {
		return done, fmt.Errorf("before the next run: %w", err)
	}
	return done, nil
}

// recovered waits until all is as before.
func (r *run) recovered(ctx context.Context) error {
	if err := r.writer.more(ctx, 300, settling); err != nil {
		return fmt.Errorf("after the fault: %w", err)
	}
	if _, err := r.awaitRunning(ctx); err != nil {
		return fmt.Errorf("after the fault: %w", err)
	}
	return nil
}

// begin waits for a resource in order, and starts the writer on a node that the fault spares.
func (r *run) begin(ctx context.Context) error {
	now, err := r.awaitRunning(ctx)
	if err != nil {
		return err
	}
	if err := r.kube.quiet(ctx); err != nil {
		return err
	}
	pods, err := r.pods(ctx)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Name == now.Status.Primary {
			r.primary = pod
		} else {
			r.replicas = append(r.replicas, pod)
		}
	}
	if r.primary == nil {
		return fmt.Errorf("no pod %s", now.Status.Primary)
	}
	if r.node, err = r.spared(ctx, r.primary.Spec.NodeName); err != nil {
		return err
	}
	if r.writer, err = r.start(ctx, r.node, "main"); err != nil {
		return err
	}
	return r.writer.more(ctx, 500, time.Minute)
}

// spared is a node other than some; the last by name, if there are several.
func (r *run) spared(ctx context.Context, others ...string) (string, error) {
	nodes, err := r.kube.nodes(ctx)
	if err != nil {
		return "", err
	}
	found := ""
	for _, node := range nodes {
		if !slices.Contains(others, node) {
			found = node
		}
	}
	if found == "" {
		return "", fmt.Errorf("no node but %v", others)
	}
	return found, nil
}

// start starts a writer on a node; its name, and so its keys, are of this run only.
func (r *run) start(ctx context.Context, node, side string) (*writer, error) {
	service, err := r.service(ctx)
	if err != nil {
		return nil, err
	}
	w, err := r.outposts.startWriter(ctx, node, fmt.Sprintf("%s-%s-%d", r.namespace, side, r.number), service, r.fault.pace)
	if err != nil {
		return nil, err
	}
	w.unconfirmed = r.fault.unconfirmed
	r.writing = append(r.writing, w)
	return w, nil
}

// move starts the writer anew on another node, where the fault takes the one that it would have been on.
func (r *run) move(ctx context.Context, node string) error {
	if node == r.node {
		return nil
	}
	if err := r.abandon(ctx, r.writer); err != nil {
		return err
	}
	r.node = node
	moved, err := r.start(ctx, node, "moved")
	if err != nil {
		return err
	}
	r.writer = moved
	return r.writer.more(ctx, 500, time.Minute)
}

// abandon ends a writer's process: it would go on for ever, and disturb the next run.
func (s *stage) abandon(ctx context.Context, w *writer) error {
	s.writing = slices.DeleteFunc(s.writing, func(one *writer) bool { return one == w })
	return w.abandon(ctx)
}

// abandonAll is for a run that did not come to its end.
func (s *stage) abandonAll(ctx context.Context) error {
	var problems []error
	for _, w := range slices.Clone(s.writing) {
		problems = append(problems, s.abandon(ctx, w))
	}
	return errors.Join(problems...)
}

// finish ends the writers, verifies their keys on the primary, and makes one report of both.
func (r *run) finish(ctx context.Context) (*measure.Report, error) {
	report, err := r.report(ctx, r.writer)
	if err != nil || r.oldSide == nil {
		return report, err
	}
	old, err := r.report(ctx, r.oldSide)
	if err != nil {
		return nil, err
	}
	if len(r.moments) == 0 {
		return report, nil
	}
	if overlap := measure.Overlap(old.Windows[0], report.Windows[0]); overlap > 0 {
		r.broken = append(r.broken, fmt.Sprintf("both sides of the cut confirmed writes, for %s", overlap))
	}
	if goesOn := old.Windows[0].LastAcked.Sub(r.moments[0]); goesOn > maxLag+2*time.Second {
		r.unmet("the old side acknowledged writes for %s", goesOn.Round(time.Millisecond))
	}
	report.Add(*old)
	return report, nil
}

// report asks again for a while: the primary may just be changing.
func (r *run) report(ctx context.Context, w *writer) (report *measure.Report, err error) {
	err = poll(ctx, "the report of "+w.name, time.Minute, func(ctx context.Context) error {
		address, err := r.address(ctx)
		if err == nil {
			report, err = w.finish(ctx, r.moments, r.faults(), address, r.absent)
		}
		return err
	})
	if err == nil {
		for _, key := range report.Found {
			r.broken = append(r.broken, "the key "+key+" came to light")
		}
		err = r.abandon(ctx, w)
	}
	return report, err
}

// faults are the moments from which the age of lost writes is counted: the first is the fault, and what follows is its end.
func (r *run) faults() []time.Time {
	if r.fault.each {
		return r.moments
	}
	return r.moments[:min(1, len(r.moments))]
}

// gaps are those that count against the bar.
func (r *run) gaps(report *measure.Report) []time.Duration {
	if len(r.moments) == 0 {
		return nil
	}
	if r.fault.resumed {
		return []time.Duration{report.Windows[len(report.Windows)-1].Resumed}
	}
	var gaps []time.Duration
	for _, window := range report.Windows {
		gaps = append(gaps, window.Gap)
	}
	if r.fault.each {
		return gaps
	}
	return []time.Duration{slices.Max(gaps)}
}
