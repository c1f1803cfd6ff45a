package sim

import (
	"slices"
	"time"
)

// guest is a connection of a client to a process, at the process' end.
type guest struct {
	id     int
	client *writer
	at     *process
	open   bool
}

// close ends the connection; the client is told as soon as it can be reached.
func (g *guest) close() {
	if !g.open {
		return
	}
	g.open = false
	g.at.guests = slices.DeleteFunc(g.at.guests, func(other *guest) bool { return other == g })
	w, c := g.at.world, g.client
	void := func() bool { return c.guest != g || g.at.pod.gone }
	w.network.carry(g.at.pod.ip, c.name, w.between(50*time.Microsecond, 500*time.Microsecond), void, func() { c.disconnected() })
}

// request is one write of a client, perhaps with a WAIT behind it. What was sent arrives, also if the client has given up.
type request struct {
	guest *guest
	turn  int
	id    int
	// waits and need are of WAIT: for how many replicas, the quorum on record when it was sent.
	waits bool
	need  int
}

const waitLimit = time.Second

// handle is processCommand for a write of a client.
func (p *process) handle(r request) {
	switch {
	case !r.guest.open:
		return
	case p.loading:
		p.reply(r, "LOADING")
	case !p.primary && p.state != linkUp:
		p.reply(r, "MASTERDOWN")
	case !p.primary:
		p.reply(r, "READONLY")
	case !p.enough():
		p.reply(r, "NOREPLICAS")
	case p.paused():
		p.postponed = append(p.postponed, func() { p.handle(r) })
	default:
		p.write(r.id)
		p.world.accepted(p, r)
		if !r.waits {
			p.reply(r, "OK")
			return
		}
		p.wait(r.need, waitLimit, func(count int) {
			if count >= r.need {
				p.world.confirmed(p, r, count)
			}
			p.reply(r, "OK")
			if count < 0 {
				r.guest.close() // UNBLOCKED
			}
		})
	}
}

// reply sends an answer back.
func (p *process) reply(r request, answer string) {
	w, c := p.world, r.guest.client
	void := func() bool { return c.guest != r.guest || c.turn != r.turn || p.dead && p.pod.gone }
	w.network.carry(p.pod.ip, c.name, w.between(100*time.Microsecond, time.Millisecond), void, func() { c.answered(answer) })
}
