package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	cachev1 "example.com/redis-operator/api/v1"
)

// world is everything. Its lock guards the models; nobody sleeps while holding it.
type world struct {
	sync.Mutex

	seed  uint64
	rand  *rand.Rand
	start time.Time
	over  bool

	store     *store
	network   *network
	machines  []*machine
	proxies   []*proxy
	pods      []*pod // that ever were, in order of creation
	operators []*operator
	clients   []*writer
	serial    int
	// connections numbers connections, apart from serial: operators make them whenever they like.
	connections int
	freeIPs     []string
	// rolledOut is the version of the store that the Deployment's controller has seen.
	rolledOut int64

	// claims are those that were ever written, by epoch; wipedAt is when the record was last lost on purpose.
	claims  map[int64]cachev1.Claim
	wipedAt time.Time
	safe    bool
	// served is the run id of the process that was promoted last.
	served string
	// acknowledged are the writes that a client was told are done, without those that were lost since; confirms likewise those
	// that WAIT confirmed.
	acknowledged []acceptedWrite
	confirms     []confirmedWrite
	lastWrite    int
	// givenUp are writes that a promotion left behind with somebody who could not be asked.
	givenUp map[int]bool
	// lostWrites and confirmedWrites are counted for the transcript.
	lostWrites, confirmedWrites int
	// troubledUntil is until when a fault other than a planned one may be at work.
	troubledUntil time.Time

	// calmed is true once faults have ended: none strikes any more, also none that was to come later.
	calmed bool
	// story is true where the transcript is to have what matters alone; endAfter then begins the step after which the operator ends.
	story    bool
	endAfter string
	// operatorMachine is where operators run; empty for any machine.
	operatorMachine string
	// quietly is true where nobody reads the transcript.
	quietly    bool
	transcript strings.Builder
	violations []string
}

var key = types.NamespacedName{Namespace: "ns", Name: "r"}

func newWorld(seed uint64) *world {
	w := &world{seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), start: time.Now(), claims: map[int64]cachev1.Claim{}, givenUp: map[int]bool{}, safe: true}
	w.store = newStore(w)
	w.network = newNetwork(w)
	return w
}

// number makes names unique.
func (w *world) number() int {
	w.serial++
	return w.serial
}

func (w *world) connection() int {
	w.connections++
	return w.connections
}

// between is a random time, never a round one.
func (w *world) between(least, most time.Duration) time.Duration { return between(w.rand, least, most) }

// latency is how long something takes on a way through the network that begins now. It depends on nothing else, so that one
// message more or less, which is up to Go's scheduler where two things happen at once, does not shift all that come after it.
func (w *world) latency(way uint64, least, most time.Duration) time.Duration {
	r := rand.NewPCG(w.seed^way, uint64(time.Now().UnixNano()))
	return least + time.Duration(r.Uint64()%uint64(most-least+1))
}

// oneIn is true once in so many cases, by the same rule.
func (w *world) oneIn(way uint64, n int) bool {
	return w.latency(way^0x9e3779b97f4a7c15, 0, time.Duration(n-1)) == 0
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// later does something after a time, with the world locked, unless the world has ended.
func (w *world) later(d time.Duration, do func()) {
	time.AfterFunc(d, func() {
		w.Lock()
		defer w.Unlock()
		if !w.over {
			do()
		}
	})
}

// tell adds a line to the transcript.
func (w *world) tell(format string, args ...any) {
	if w.quietly {
		return
	}
	fmt.Fprintf(&w.transcript, "%9.3fs  %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
}

// detail adds a line that is no part of the story.
func (w *world) detail(format string, args ...any) {
	if !w.story {
		w.tell(format, args...)
	}
}

// tellRole tells whom a process copies from now.
func (w *world) tellRole(p *process, host string) {
	if w.quietly {
		return
	}
	to := "nobody"
	if from := w.podAt(host); from != nil {
		to = from.short
	}
	w.tell("redis: %s copies from %s", p.runID, to)
}

// violated records that an invariant does not hold. What follows from the first violation is no news.
func (w *world) violated(format string, args ...any) {
	if len(w.violations) > 0 {
		return
	}
	w.tell("VIOLATION: "+format, args...)
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// processAt is the Redis that listens at an address; nil if none does.
func (w *world) processAt(ip string) *process {
	if p := w.podAt(ip); p != nil && p.process != nil && p.process.listens {
		return p.process
	}
	return nil
}

// podAt is the pod with an address; nil if there is none.
func (w *world) podAt(ip string) *pod {
	for _, v := range slices.Backward(w.pods) {
		if p := v; p.ip == ip && !p.gone {
			return p
		}
	}
	return nil
}

// processes are all that run.
func (w *world) processes() []*process {
	all := make([]*process, 0, 8)
	for _, p := range w.pods {
		if p.process != nil {
			all = append(all, p.process)
		}
	}
	return all
}

// claim is the claim on record.
func (w *world) claim() *cachev1.Claim { return w.store.resource().Status.Claim }
