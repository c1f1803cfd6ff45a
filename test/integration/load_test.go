//go:build integration

package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// load writes numbered keys through the Service, one after the other, as fast as it can, whatever happens.
type load struct {
	w    *world
	stop context.CancelFunc
	done chan struct{}

	mu sync.Mutex
	// acknowledged are the numbers whose write was answered with OK; confirmed those that WAIT 1 counted on a replica too.
	acknowledged, confirmed []int
	longestGap              time.Duration
}

func (w *world) load() *load {
	ctx, stop := context.WithCancel(w.ctx)
	l := &load{w: w, stop: stop, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.run(ctx)
	}()
	w.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	<-l.done
}

func (l *load) run(ctx context.Context) {
	var conn *redisConn
	last := time.Now()
	for number := 0; ctx.Err() == nil; number++ {
		if conn == nil {
			address, err := l.w.serviceAddress()
			if err == nil {
				conn, err = dialRedis(address, l.w.login()...)
			}
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
		}
		acknowledged, confirmed, err := write(conn, number)
		l.mu.Lock()
		if acknowledged {
			l.acknowledged = append(l.acknowledged, number)
			l.longestGap = max(l.longestGap, time.Since(last))
			last = time.Now()
		}
		if confirmed {
			l.confirmed = append(l.confirmed, number)
		}
		l.mu.Unlock()
		if err != nil {
			_ = conn.Close()
			conn = nil
			time.Sleep(5 * time.Millisecond)
			continue
		}
		time.Sleep(time.Millisecond) // two cores serve all of this
	}
	if conn != nil {
		_ = conn.Close()
	}
}

func keyOf(number int) string { return "key:" + strconv.Itoa(number) }

func write(conn *redisConn, number int) (acknowledged, confirmed bool, err error) {
	if _, err := conn.do("SET", keyOf(number), strconv.Itoa(number)); err != nil {
		return false, false, err
	}
	count, err := conn.do("WAIT", "1", "500")
	if err != nil {
		return true, false, err
	}
	return true, count != "0", nil
}

// awaitConfirmed waits until so many more writes are confirmed.
func (l *load) awaitConfirmed(more int) {
	l.w.Helper()
	l.mu.Lock()
	target := len(l.confirmed) + more
	l.mu.Unlock()
	l.w.await(fmt.Sprintf("%d more confirmed writes", more), func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if len(l.confirmed) < target {
			return fmt.Errorf("%d of %d are confirmed", len(l.confirmed), target)
		}
		return nil
	})
}

// requireKept ends the load, and requires that every node has every confirmed write; acknowledged writes that are lost are
// logged, since Redis promises nothing of them.
func (l *load) requireKept(nodes []node) {
	l.w.Helper()
	l.end()
	l.check(nodes)
	lost := l.missing(nodes[0], l.acknowledged)
	l.w.Logf("%d writes acknowledged, %d confirmed by a replica, of the unconfirmed %d lost, longest gap %v",
		len(l.acknowledged), len(l.confirmed), len(lost), l.longestGap.Round(time.Millisecond))
}

// check requires that every node has every write that was confirmed so far.
func (l *load) check(nodes []node) {
	l.w.Helper()
	l.mu.Lock()
	confirmed := slices.Clone(l.confirmed)
	l.mu.Unlock()
	for _, n := range nodes {
		var missing []int
		// A replica may be some milliseconds behind.
		for end := time.Now().Add(2 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if missing = l.missing(n, confirmed); len(missing) == 0 || time.Now().After(end) {
				break
			}
		}
		require.Empty(l.w, missing, "confirmed writes that %s (%s) does not have", n.pod.Name, n.info["role"])
	}
}

func (l *load) missing(n node, numbers []int) []int {
	l.w.Helper()
	conn, err := dialRedis(address(n.pod.Status.PodIP), l.w.login()...)
	require.NoError(l.w, err)
	defer func() { _ = conn.Close() }()
	var missing []int
	for some := range slices.Chunk(numbers, 500) {
		words := []string{"MGET"}
		for _, number := range some {
			words = append(words, keyOf(number))
		}
		answer, err := conn.do(words...)
		require.NoError(l.w, err)
		for i, value := range strings.Split(answer, "\n") {
			if value != strconv.Itoa(some[i]) {
				missing = append(missing, some[i])
			}
		}
	}
	return missing
}
