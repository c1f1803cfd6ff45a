package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"example.com/redis-operator/test/bench/measure"
)

// waitMillis is how long WAIT may take; less than the time to read a reply, so that a replica that is missing is no error.
const waitMillis = "400"

// writer is several clients at once.
type writer struct {
	clients []*client
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

func newWriter(o options) *writer {
	ctx, stop := context.WithCancel(context.Background())
	w := &writer{stop: stop}
	for i := range o.plain + o.waiting {
		kind := "a"
		if i >= o.plain {
			kind = "w"
		}
		c := &client{to: o.to, pace: o.pace}
		c.saw = measure.Client{Name: fmt.Sprintf("%s:%s%d", o.name, kind, i), Waits: kind == "w", Began: time.Now(), Errors: map[measure.Kind]int{}}
		w.clients = append(w.clients, c)
		w.ended.Go(func() { c.run(ctx) })
	}
	return w
}

// end stops all clients and returns what they saw.
func (w *writer) end() []measure.Client {
	w.stop()
	w.ended.Wait()
	var saw []measure.Client
	for _, c := range w.clients {
		saw = append(saw, c.saw)
	}
	return saw
}

// client writes one numbered key after the other, each once, whatever becomes of it.
type client struct {
	to   string
	pace time.Duration
	conn *connection
	link int

	mu               sync.Mutex
	saw              measure.Client
	acked, confirmed int
}

func (c *client) run(ctx context.Context) {
	next := time.Now()
	for number := 1; ctx.Err() == nil; number++ {
		c.tryWrite(number)
		// Attempts that fail keep the pace too: four clients that try as fast as they can would take the machine from the others.
		next = next.Add(c.pace)
		if now := time.Now(); now.Before(next) {
			time.Sleep(next.Sub(now))
		} else if now.Sub(next) > 5*c.pace {
			next = now
		}
	}
	c.hangUp()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw.Ended = time.Now()
}

// tryWrite makes a connection if there is none, and gives it up if it is of no use: another may lead to another server.
func (c *client) tryWrite(number int) {
	if c.conn == nil {
		conn, err := dial(c.to)
		if err != nil {
			c.fails(measure.KindOfError(err))
			return
		}
		c.conn, c.link = conn, c.link+1
	}
	write := measure.Write{Number: number, Link: c.link}
	err := c.exchange(&write)
	c.note(write)
	var reply replyError
	switch {
	case err == nil:
	case errors.As(err, &reply):
		kind := measure.KindOfReply(reply.Error())
		c.fails(kind)
		if kind != measure.NoReplicas { // it is the primary, which will go on
			c.hangUp()
		}
	default:
		c.fails(measure.KindOfError(err))
		c.hangUp()
	}
}

// exchange sends the write, with WAIT right behind it, and notes what is answered.
func (c *client) exchange(write *measure.Write) error {
	commands := [][]string{{"SET", keyOf(c.saw.Name, write.Number), strconv.Itoa(write.Number)}}
	if c.saw.Waits {
		commands = append(commands, []string{"WAIT", "1", waitMillis})
	}
	if err := c.conn.send(commands...); err != nil {
		return err
	}
	reply, refusal := c.conn.receive()
	var word replyError
	if refusal != nil && !errors.As(refusal, &word) {
		return refusal
	}
	if refusal == nil && reply == "OK" {
		write.Acked = time.Now()
	}
	if !c.saw.Waits {
		return refusal
	}
	reply, err := c.conn.receive()
	if refusal != nil {
		return refusal
	}
	if err != nil {
		return err
	}
	if text, isText := reply.(string); isText {
		if copies, err := strconv.Atoi(text); err == nil && copies >= 1 {
			write.Confirmed = time.Now()
		}
	}
	return nil
}

func keyOf(client string, number int) string { return client + ":" + strconv.Itoa(number) }

func (c *client) note(write measure.Write) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw.Writes = append(c.saw.Writes, write)
	if !write.Acked.IsZero() {
		c.acked++
	}
	if !write.Confirmed.IsZero() {
		c.confirmed++
	}
}

func (c *client) fails(kind measure.Kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.saw.Errors[kind]++
}

func (c *client) hangUp() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// counts are how many writes each client has that count: for those that wait, and unless unconfirmed ones do, the confirmed.
func (w *writer) counts(unconfirmed bool) []int {
	var counts []int
	for _, c := range w.clients {
		c.mu.Lock()
		switch {
		case !c.saw.Waits:
			counts = append(counts, c.acked)
		case !unconfirmed:
			counts = append(counts, c.confirmed)
		}
		c.mu.Unlock()
	}
	return counts
}

// awaitMore waits until each client has so many more.
func (w *writer) awaitMore(ctx context.Context, request moreRequest) error {
	before := w.counts(request.Unconfirmed)
	ctx, cancel := context.WithTimeout(ctx, request.Within)
	defer cancel()
	for {
		now := w.counts(request.Unconfirmed)
		if allAhead(before, now, request.Count) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not %d more acknowledgements of each client within %s: from %v to %v, errors %v", request.Count, request.Within, before, now, w.errors())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func allAhead(before, now []int, by int) bool {
	for i := range now {
		if now[i] < before[i]+by {
			return false
		}
	}
	return true
}

func (w *writer) errors() map[measure.Kind]int {
	all := map[measure.Kind]int{}
	for _, c := range w.clients {
		c.mu.Lock()
		for kind, count := range c.saw.Errors {
			all[kind] += count
		}
		c.mu.Unlock()
	}
	return all
}
