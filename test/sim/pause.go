package sim

import "time"

// pause is CLIENT PAUSE with WRITE: writes of clients, and WAIT, are put off (processCommand: blockPostponeClient). What goes to
// replicas, the PINGs of cron among it, goes on.
type pause struct {
	pausedUntil time.Time
	postponed   []func()
}

func (p *process) paused() bool { return time.Now().Before(p.pausedUntil) }

// pauseWrites never shortens a pause (pauseClients).
func (p *process) pauseWrites(d time.Duration) {
	until := time.Now().Add(d)
	if !until.After(p.pausedUntil) {
		return
	}
	p.pausedUntil = until
	// The end is noticed by the next event or by serverCron, ten times a second.
	p.world.later(d+p.world.between(0, 100*time.Millisecond), func() {
		if p.pausedUntil == until {
			p.take(p.unpause)
		}
	})
}

// unpause runs what was put off, each as if it came now: a node that is no primary any more answers READONLY.
func (p *process) unpause() {
	p.pausedUntil = time.Time{}
	p.world.checkOnePrimary()
	postponed := p.postponed
	p.postponed = nil
	for _, do := range postponed {
		do()
	}
}
