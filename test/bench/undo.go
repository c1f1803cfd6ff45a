package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// undos are what has to be undone of what was done to a cluster, in whatever way a run ends.
type undos struct {
	steps []*undo
}

type undo struct {
	what string
	do   func(ctx context.Context) error

	mu   sync.Mutex
	done bool
}

// add takes a step before what it undoes is done: that may fail half-way. It may be undone early by what is returned.
func (u *undos) add(what string, do func(ctx context.Context) error) (now func(ctx context.Context) error) {
	step := &undo{what: what, do: do}
	u.steps = append(u.steps, step)
	return step.run
}

// run does nothing once it has succeeded.
func (s *undo) run(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return nil
	}
	if err := s.do(ctx); err != nil {
		return fmt.Errorf("%s: %w", s.what, err)
	}
	s.done = true
	return nil
}

// all undoes what has not been undone yet, the last first, each step even if another fails. Those that fail are tried again the
// next time.
func (u *undos) all(ctx context.Context) error {
	var problems []error
	for _, step := range slices.Backward(u.steps) {
		problems = append(problems, step.run(ctx))
	}
	u.steps = slices.DeleteFunc(u.steps, func(step *undo) bool { return step.done })
	return errors.Join(problems...)
}
