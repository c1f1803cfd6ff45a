package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"example.com/redis-operator/internal/act"
	"example.com/redis-operator/internal/controller"
	"example.com/redis-operator/internal/credentials"
	"example.com/redis-operator/internal/decide"
	"example.com/redis-operator/internal/expectations"
	"example.com/redis-operator/internal/monitor"
	"example.com/redis-operator/internal/observe"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/redis"
)

// operator is one process of the real operator: the reconciler that main wires, with the model's API server and network.
type operator struct {
	world      *world
	name       string
	reconciler *controller.Reconciler
	monitor    *monitor.Monitor
	informers  *informers
	written    *expectations.Store
	applied    *expectations.Applied
	wakes      chan struct{}
	cancel     context.CancelFunc
	isDead     bool
	started    time.Time
	looked     time.Time
	// apiTrouble lets calls to the API server be lost; redisTrouble messages to and from the process at an address.
	apiTrouble   bool
	redisTrouble map[string]bool
	// stepsLeft is after how many more steps the process ends, between two of them; negative for never.
	stepsLeft int
}

// startOperator starts an operator with an empty memory. The world is locked.
func (w *world) startOperator() *operator {
	op := &operator{
		world: w, name: fmt.Sprintf("operator%d", w.number()), wakes: make(chan struct{}, 1), stepsLeft: -1, started: time.Now(), redisTrouble: map[string]bool{},
		written: expectations.NewStore(time.Now), applied: expectations.NewApplied(),
	}
	w.network.machines[op.name] = w.machineOfOperator()
	op.informers = newInformers(op)
	var dial redis.Dialer = op.dial
	op.monitor = monitor.New(dial, func(types.NamespacedName) { op.wake() }, logr.Discard())
	api := &apiClient{operator: op, rand: rand.New(rand.NewPCG(w.seed, hash64(op.name)))}
	seeds := credentials.NewStore()
	leads := make(chan struct{})
	close(leads)
	op.reconciler = &controller.Reconciler{
		Observer: &observe.Observer{
			Cache: op.informers, Live: api, Nodes: op.monitor, Written: op.written, Applied: op.applied, Credentials: seeds, Now: time.Now,
		},
		Actor: &act.Actor{
			Writer: api, Live: api, Nodes: op.monitor, Written: op.written, Applied: op.applied, Credentials: seeds, Ended: op.stepEnded,
		},
		Recorder: recorder{op}, Metrics: controller.NewMetrics(prometheus.NewRegistry()), Now: time.Now, Leads: leads,
	}
	var ctx context.Context
	ctx, op.cancel = context.WithCancel(context.Background())
	w.operators = append(w.operators, op)
	w.tell("%s starts", op.name)
	op.wake()
	go op.run(ctx)
	return op
}

// machineOfOperator is one that reaches the API server; there always is one.
func (w *world) machineOfOperator() string {
	if w.operatorMachine != "" {
		return w.operatorMachine
	}
	var fit []string
	for _, m := range w.machines {
		if w.reports(m.name) {
			fit = append(fit, m.name)
		}
	}
	if len(fit) == 0 {
		return ""
	}
	return fit[w.rand.IntN(len(fit))]
}

// run is the work queue: one reconcile at a time, again when woken, later when asked for, with growing pauses after failures.
func (op *operator) run(ctx context.Context) {
	pause := 20 * time.Millisecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-op.wakes:
		case <-timer.C:
		}
		op.rest()
		if op.dead() {
			return
		}
		result, err := op.reconciler.Reconcile(ctx, ctrl.Request{NamespacedName: key})
		op.looked = time.Now()
		switch {
		case err != nil:
			timer.Reset(pause)
			pause = min(2*pause, 30*time.Second)
		case result.RequeueAfter > 0:
			timer.Reset(result.RequeueAfter)
			pause = 20 * time.Millisecond
		default:
			timer.Stop()
			pause = 20 * time.Millisecond
		}
	}
}

// wake never blocks.
func (op *operator) wake() {
	select {
	case op.wakes <- struct{}{}:
	default:
	}
}

func (op *operator) dead() bool {
	op.world.Lock()
	defer op.world.Unlock()
	return op.isDead
}

// kill ends the process: between two steps if it is asked for there, else wherever it is. The world is locked.
func (op *operator) kill() {
	if op.isDead {
		return
	}
	op.world.tell("%s ends", op.name)
	op.isDead = true
	op.cancel()
	go op.monitor.Close()
	for i, other := range op.world.operators {
		if other == op {
			op.world.operators = append(op.world.operators[:i:i], op.world.operators[i+1:]...)
			return
		}
	}
}

// stepEnded writes the transcript, and ends the process if it was to end after this step.
func (op *operator) stepEnded(_ types.NamespacedName, step plan.StepOutcome) {
	w := op.world
	w.Lock()
	note := step.Note
	if step.Err != nil {
		note = step.Err.Error()
	}
	if step.Result != plan.Already && !w.quietly {
		tell := w.tell
		if step.Lane != plan.Safety {
			tell = w.detail
		}
		tell("%s: %s: %s (%s: %s) %s", op.name, step.Step.Action, step.Result, step.Step.Why.Code, step.Step.Why.Message, note)
	}
	if op.stepsLeft == 0 || w.endAfter != "" && strings.HasPrefix(step.Step.Action.String(), w.endAfter) {
		w.endAfter = ""
		op.kill()
	}
	op.stepsLeft--
	dead := op.isDead
	w.Unlock()
	if dead {
		runtime.Goexit()
	}
	op.breathe()
}

// restTime is how long an operator waits between two looks. A real one does not; but most of its looks find nothing, since each of
// its own writes wakes it again, and they are most of what a schedule costs. Every fourth schedule goes without.
const restTime = 50 * time.Millisecond

func (op *operator) rest() {
	if wait := time.Until(op.looked.Add(restTime)); wait > 0 && op.world.seed%4 != 0 {
		time.Sleep(wait)
	}
	op.breathe()
}

// breathe lets what happens at the same moment elsewhere in the operator happen first: what the monitor asks a node, and what is
// done to it, would else be a race that passes another way each time.
func (op *operator) breathe() {
	time.Sleep(op.world.latency(hash64(op.name), 10*time.Microsecond, 90*time.Microsecond))
}

// forget is what the controller's handler of deletions does.
func (op *operator) forget(uid types.UID) {
	op.written.Forget(uid)
	op.applied.Forget(uid)
}

// plan is what the operator would do now.
func (op *operator) plan(ctx context.Context) (plan.Plan, error) {
	_, snapshot, err := op.reconciler.Observer.Observe(ctx, key)
	if err != nil {
		return plan.Plan{}, err
	}
	return decide.Decide(snapshot, time.Now()), nil
}

// recorder puts events into the transcript.
type recorder struct{ operator *operator }

// Eventf implements events.EventRecorder.
func (r recorder) Eventf(_, _ apiruntime.Object, _, reason, _, note string, args ...any) {
	r.operator.world.Lock()
	defer r.operator.world.Unlock()
	r.operator.world.tell("%s: event %s: %s", r.operator.name, reason, fmt.Sprintf(note, args...))
}

func hash64(text string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(text))
	return sum.Sum64()
}
