package decide_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/state"
	"example.com/redis-operator/internal/testing/given"
)

// lines are lines of a plan's story.
type lines []string

// story is the plan for a snapshot.
func story(s *state.Snapshot) lines {
	p := decide.Decide(s, given.Now)
	return strings.Split(strings.TrimSpace(p.String()), "\n")
}

// lane is the part of the story that tells of one lane, or of what is "blocked".
func (l lines) lane(name string) lines {
	var found lines
	for _, line := range l {
		if strings.HasPrefix(line, name+": ") {
			found = append(found, line)
		}
	}
	return found
}

func (l lines) mustBeEmpty(t *testing.T) {
	t.Helper()
	assert.Empty(t, strings.Join(l, "\n"))
}

func (l lines) mustBegin(t *testing.T, want lines) {
	t.Helper()
	assert.Equal(t, strings.Join(want, "\n"), strings.Join(l[:min(len(l), len(want))], "\n"))
}
