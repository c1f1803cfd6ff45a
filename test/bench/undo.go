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
	mu    sync.Mutex
	steps []*undo
}

type undo struct {
	what string
	do   func(ctx context.Context) error
	once sync.Once
	err  error
}

// add takes a step before what it undoes is done: that may fail half-way. It may be undone early by what is returned.
func (u *undos) add(what string, do func(ctx context.Context) error) (now func(ctx context.Context) error) {
	step := &undo{what: what, do: do}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.steps = append(u.steps, step)
	return step.run
}

func (s *undo) run(ctx context.Context) error {
	s.once.Do(func() {
		if err := s.do(ctx); err != nil {
			s.err = fmt.Errorf("%s: %w", s.what, err)
		}
	})
	return s.err
}

// all undoes what has not been undone yet, the last first, each step even if another fails.
func (u *undos) all(ctx context.Context) error {
	u.mu.Lock()
	steps := u.steps
	u.steps = nil
	u.mu.Unlock()
	var problems []error
	for _, step := range slices.Backward(steps) {
		problems = append(problems, step.run(ctx))
	}
	return errors.Join(problems...)
}
