//go:build e2e

package e2e

import (
	"bytes"
	"strings"
	"sync"
)

// lineBuffer keeps what a process writes, and gives it out by complete lines.
type lineBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func newLineBuffer() *lineBuffer { return &lineBuffer{} }

func (b *lineBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// all are the complete lines.
func (b *lineBuffer) all() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	lines := strings.Split(b.text.String(), "\n")
	return lines[:len(lines)-1]
}

// String is all that was written.
func (b *lineBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
