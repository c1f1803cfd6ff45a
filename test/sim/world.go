package sim

import (
	"fmt"
	"math/rand/v2"
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
	pods      []*pod // that ever were, in order of creation
	operators []*operator
	serial    int
	freeIPs   []string

	// claims are those that were ever written, by epoch; wiped is true if the record was lost on purpose.
	claims map[int64]cachev1.Claim
	wiped  bool
	safe   bool
	// acknowledged are the writes that a client was told are done.
	acknowledged []int
	lastWrite    int

	cuts       map[link]bool
	transcript strings.Builder
	violations []string
}

// link is a way between two places that may be cut: an operator's name or a pod's IP.
type link struct{ a, b string }

var key = types.NamespacedName{Namespace: "ns", Name: "r"}

func newWorld(seed uint64) *world {
	w := &world{
		seed: seed, rand: rand.New(rand.NewPCG(seed, 0)), start: time.Now(), claims: map[int64]cachev1.Claim{}, cuts: map[link]bool{}, safe: true,
	}
	w.store = newStore(w)
	return w
}

// number makes names unique.
func (w *world) number() int {
	w.serial++
	return w.serial
}

// between is a random time, never a round one.
func (w *world) between(least, most time.Duration) time.Duration { return between(w.rand, least, most) }

// latency is how long something takes on a way through the network that begins now. It depends on nothing else, so that one
// message more or less, which is up to Go's scheduler where two things happen at once, does not shift all that come after it.
func (w *world) latency(way uint64, least, most time.Duration) time.Duration {
	return between(rand.New(rand.NewPCG(w.seed^way, uint64(time.Now().UnixNano()))), least, most)
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
	fmt.Fprintf(&w.transcript, "%9.3fs  %s\n", time.Since(w.start).Seconds(), fmt.Sprintf(format, args...))
}

// violated records that an invariant does not hold.
func (w *world) violated(format string, args ...any) {
	w.tell("VIOLATION: "+format, args...)
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

func (w *world) cut(a, b string)            { w.cuts[link{a, b}] = true }
func (w *world) heal(a, b string)           { delete(w.cuts, link{a, b}) }
func (w *world) connected(a, b string) bool { return !w.cuts[link{a, b}] && !w.cuts[link{b, a}] }

// processAt is the Redis that listens at an address; nil if none does.
func (w *world) processAt(ip string) *process {
	for _, p := range w.pods {
		if p.ip == ip && !p.gone && p.process != nil && p.process.listens {
			return p.process
		}
	}
	return nil
}

// podAt is the pod with an address; nil if there is none.
func (w *world) podAt(ip string) *pod {
	for _, p := range w.pods {
		if p.ip == ip && !p.gone {
			return p
		}
	}
	return nil
}

// processes are all that run.
func (w *world) processes() []*process {
	var all []*process
	for _, p := range w.pods {
		if p.process != nil {
			all = append(all, p.process)
		}
	}
	return all
}

// claim is the claim on record.
func (w *world) claim() *cachev1.Claim { return w.store.resource().Status.Claim }
