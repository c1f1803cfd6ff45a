package sim

import (
	"fmt"
	"time"
)

// writer is a client that writes numbered keys through the Service, one after the other. Some wait for the quorum on record after each write;
// some are dull: they stay on a connection that once took a write, although it answers READONLY since.
type writer struct {
	world   *world
	name    string
	machine string
	waits   bool
	dull    bool

	guest *guest
	// turn counts requests and attempts to connect; answers to an older one are void. since is when this one began.
	turn  int
	since time.Time
	// asks is true while an answer is awaited.
	asks bool
	// served is when a write was last accepted; trusts is true if this connection took one.
	served time.Time
	trusts bool
}

const (
	clientPatience = 1500 * time.Millisecond
	connectTime    = time.Millisecond
)

// startClients lets two clients of each kind write, on the machines in turn.
func (w *world) startClients() {
	for i := range 4 {
		c := &writer{world: w, machine: fmt.Sprintf("m%d", 1+(i+int(w.seed))%machines), waits: i%2 == 0, dull: protocol && i == 3}
		c.name = fmt.Sprintf("client%d", i+1)
		w.network.machines[c.name] = c.machine
		w.clients = append(w.clients, c)
		c.pause(w.between(0, 50*time.Millisecond))
		c.watch()
	}
}

// watch lets a client give up what takes too long.
func (c *writer) watch() {
	c.world.later(c.world.between(450*time.Millisecond, 550*time.Millisecond), func() {
		if c.asks && time.Since(c.since) > clientPatience {
			c.disconnect()
		}
		c.watch()
	})
}

// pause begins the next turn after a time.
func (c *writer) pause(d time.Duration) {
	c.turn++
	c.asks = false
	turn := c.turn
	c.world.later(d, func() {
		if c.turn == turn {
			c.next()
		}
	})
}

// next connects or writes.
func (c *writer) next() {
	c.asks, c.since = true, time.Now()
	if c.guest == nil {
		c.connect()
		return
	}
	w := c.world
	w.lastWrite++
	r := request{guest: c.guest, turn: c.turn, id: w.lastWrite, waits: c.waits}
	if claim := w.claim(); claim != nil {
		r.need = int(claim.Quorum)
	}
	p := c.guest.at
	w.network.carry(c.name, p.pod.ip, w.between(100*time.Microsecond, connectTime), func() bool { return p.dead }, func() { p.take(func() { p.handle(r) }) })
}

// connect goes where the proxy of the machine leads, and waits there for an answer if nobody is to be reached.
func (c *writer) connect() {
	w, turn := c.world, c.turn
	ip := w.proxy(c.machine).address
	w.later(w.between(100*time.Microsecond, connectTime), func() {
		to := w.processAt(ip)
		switch {
		case c.turn != turn:
		case ip == "", to == nil && w.podAt(ip) != nil && w.network.connected(c.name, ip):
			c.pause(w.between(20*time.Millisecond, 80*time.Millisecond)) // refused
		case to != nil && w.network.connected(c.name, ip):
			c.trusts = false
			c.guest = &guest{id: w.connection(), client: c, at: to, open: true}
			to.guests = append(to.guests, c.guest)
			c.pause(time.Microsecond)
		}
	})
}

// answered is what a client does with an answer.
func (c *writer) answered(answer string) {
	w := c.world
	switch {
	case answer == "OK":
		c.served, c.trusts = time.Now(), true
		c.pause(w.between(10*time.Millisecond, 90*time.Millisecond))
	case answer == "NOREPLICAS", answer == "READONLY" && c.dull && c.trusts:
		c.pause(w.between(30*time.Millisecond, 150*time.Millisecond))
	default:
		c.disconnect()
	}
}

// disconnect closes the connection from the client's side.
func (c *writer) disconnect() {
	if g := c.guest; g != nil {
		c.guest = nil
		w := c.world
		w.network.carry(c.name, g.at.pod.ip, w.between(100*time.Microsecond, time.Millisecond), func() bool { return g.at.dead || !g.open }, func() { g.at.take(g.close) })
	}
	c.pause(c.world.between(5*time.Millisecond, 50*time.Millisecond))
}

// disconnected is what a client does when the server has closed the connection.
func (c *writer) disconnected() {
	c.guest = nil
	c.pause(c.world.between(time.Millisecond, 20*time.Millisecond))
}
