package sim

import "time"

// api is the place of the API server. Places are named by a pod's IP, an operator's or a client's name, or this.
const api = "api"

// way leads from one place to another. It may be cut while the way back is not.
type way struct{ from, to string }

// network knows which ways are cut. A machine that is an island reaches nobody else, and what is on it reaches each other.
type network struct {
	world    *world
	cuts     map[way]int
	machines map[string]string // of places; the API server is on none of these
	islands  map[string]bool
	// slow is how much longer messages of replication take on a way.
	slow map[way]time.Duration
	// disturbed is when a way, or all ways of a machine or place, last changed.
	disturbed map[way]time.Time
}

func newNetwork(w *world) *network {
	return &network{world: w, cuts: map[way]int{}, machines: map[string]string{}, islands: map[string]bool{}, slow: map[way]time.Duration{}, disturbed: map[way]time.Time{}}
}

// open tells whether what is sent from one place arrives at the other.
func (n *network) open(from, to string) bool {
	if n.cuts[way{from, to}] > 0 {
		return false
	}
	a, b := n.machines[from], n.machines[to]
	return a == b || !n.islands[a] && !n.islands[b]
}

func (n *network) connected(a, b string) bool { return n.open(a, b) && n.open(b, a) }

// cut closes a way until it is healed as often.
func (n *network) cut(from, to string) {
	n.cuts[way{from, to}]++
	n.disturbed[way{from, to}] = time.Now()
}

func (n *network) heal(from, to string) {
	n.cuts[way{from, to}] = max(0, n.cuts[way{from, to}]-1)
	n.disturbed[way{from, to}] = time.Now()
}

func (n *network) cutBoth(a, b string)  { n.cut(a, b); n.cut(b, a) }
func (n *network) healBoth(a, b string) { n.heal(a, b); n.heal(b, a) }

// isolate makes a machine an island, or ends that.
func (n *network) isolate(machine string, island bool) {
	n.islands[machine] = island
	n.disturbed[way{from: machine}] = time.Now()
}

// healAll ends all cuts, but for machines that are dead.
func (n *network) healAll() {
	clear(n.slow)
	for w := range n.cuts {
		n.cuts[w] = 0
		n.disturbed[w] = time.Now()
	}
}

// steady tells whether two places have reached each other for some time without a break.
func (n *network) steady(a, b string, since time.Duration) bool {
	if !n.connected(a, b) {
		return false
	}
	for _, w := range []way{{a, b}, {b, a}, {from: n.machines[a]}, {from: n.machines[b]}, {from: a}, {from: b}} {
		if at, ever := n.disturbed[w]; ever && time.Since(at) < since {
			return false
		}
	}
	return true
}

// noted keeps that something happened to what is at a place.
func (n *network) noted(place string) { n.disturbed[way{from: place}] = time.Now() }

// carry does something at the far end of a way after a moment, and, where the way is cut, once it is open again: TCP sends
// again until it gets through. It gives up once that is void.
func (n *network) carry(from, to string, after time.Duration, void func() bool, arrive func()) {
	n.world.later(after, func() {
		switch {
		case void():
		case n.open(from, to):
			arrive()
		default:
			n.carry(from, to, n.world.between(20*time.Millisecond, 60*time.Millisecond), void, arrive)
		}
	})
}

func never() bool { return false }
