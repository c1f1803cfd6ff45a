// Command bench does to a Redis in a cluster what can happen to it, again and again, while clients write, and measures for how
// long they cannot, what of their acknowledged writes is lost, and which errors they see. `make bench` runs it from the checkout.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	cachev1 "example.com/redis-operator/api/v1"
)

// usualRuns is how often a fault is done if nobody says.
const usualRuns = 20

// settings are what a caller may choose.
type settings struct {
	faults   string
	runs     int
	cut      time.Duration
	apiDown  time.Duration
	document string
	version  string
	list     bool
}

func main() {
	var s settings
	flag.StringVar(&s.faults, "fault", "", "names of faults, with commas between; all if empty")
	flag.IntVar(&s.runs, "runs", intFromEnv("BENCH_RUNS"), "how often each is done; 0 is its own number, mostly 20")
	flag.DurationVar(&s.cut, "cut", durationFromEnv("BENCH_CUT", 10*time.Minute), "how long a primary is cut off from operator and API server")
	flag.DurationVar(&s.apiDown, "api-down", durationFromEnv("BENCH_API_DOWN", 2*time.Minute), "how long the API server is stopped")
	flag.StringVar(&s.document, "document", "docs/benchmarks.md", "the document whose table is written; none if empty")
	flag.StringVar(&s.version, "version", "dev", "of the operator that is measured")
	flag.BoolVar(&s.list, "list", false, "list the faults")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	uninterrupted := context.AfterFunc(ctx, func() {
		fmt.Fprintln(os.Stderr, "bench: undoing what was done; a second interruption ends it at once, and the next bench cleans up")
		stop()
	})
	defer uninterrupted()
	if err := measureAll(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func intFromEnv(name string) int {
	value, _ := strconv.Atoi(os.Getenv(name))
	return value
}

func durationFromEnv(name string, otherwise time.Duration) time.Duration {
	if value, err := time.ParseDuration(os.Getenv(name)); err == nil {
		return value
	}
	return otherwise
}

// image is what the measured resource runs.
func image() string {
	if image := os.Getenv("BENCH_IMAGE"); image != "" {
		return image
	}
	return "redis:7.0"
}

// allFaults are the faults, in the order of the table.
func allFaults() []*fault {
	faults := slices.Concat(processFaults(), plannedFaults(), machineFaults(), operatorFaults())
	for _, f := range faults {
		if f.size == 0 {
			f.size = 3
		}
		if f.policy == "" {
			f.policy = cachev1.FailoverSafe
		}
		if f.pace == 0 {
			f.pace = time.Millisecond
		}
		if f.runs == 0 {
			f.runs = usualRuns
		}
	}
	return faults
}

// chosen are those that the caller names.
func chosen(all []*fault, names string) ([]*fault, error) {
	if names == "" {
		return all, nil
	}
	var faults []*fault
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(f *fault) bool { return f.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("no fault %q; -list lists them", name)
		}
		faults = append(faults, all[i])
	}
	return faults, nil
}

// measureAll measures the chosen faults, one after the other, and writes the table.
func measureAll(ctx context.Context, s settings) (err error) {
	all := allFaults()
	if s.list {
		for _, f := range all {
			fmt.Printf("%-50s %s\n", f.name, f.says)
		}
		return nil
	}
	faults, err := chosen(all, s.faults)
	if err != nil {
		return err
	}
	kube, err := openCluster()
	if err != nil {
		return err
	}
	if err := kube.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, afterwards(ctx, kube.removeNamespaces)) }()
	posts, err := newOutposts(ctx, kube)
	if err != nil {
		return err
	}
	lines := map[string]string{}
	var problems []error
	for _, f := range faults {
		if f.local && kube.local == nil {
			fmt.Printf("%s: left out, it takes the local cluster\n", f.name)
			continue
		}
		measured, err := measureFault(ctx, kube, posts, f, s)
		problems = append(problems, err)
		if measured.runs > 0 {
			lines[f.name] = measured.line(s.version)
			fmt.Print("\n", tableHead, lines[f.name], "\n")
		}
		if measured.broken {
			problems = append(problems, fmt.Errorf("%s: a promise was broken", f.name))
		}
		if ctx.Err() != nil {
			return errors.Join(append(problems, ctx.Err())...)
		}
		problems = append(problems, writeDocument(s.document, all, lines))
	}
	return errors.Join(problems...)
}

// afterwards does what has to be done also when the measurement was interrupted.
func afterwards(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settling)
	defer cancel()
	return do(ctx)
}

// measureFault does one fault as often as it is asked for. If a run does not come to its end, what was before it still counts.
func measureFault(ctx context.Context, kube *cluster, posts *outposts, f *fault, s settings) (measured *row, err error) {
	measured = &row{fault: f}
	runs := f.runs
	if s.runs > 0 {
		runs = s.runs
	}
	fmt.Printf("%s: %s; %d runs\n", f.name, f.says, runs)
	namespace, err := kube.createNamespace(ctx, f.name)
	if err != nil {
		return measured, err
	}
	there := &stage{kube: kube, outposts: posts, fault: f, undo: &undos{}, settings: s}
	defer func() {
		err = errors.Join(err, afterwards(ctx, there.undo.all), afterwards(ctx, there.abandonAll), afterwards(ctx, func(ctx context.Context) error {
			return kube.removeNamespace(ctx, namespace)
		}))
		if err != nil {
			err = fmt.Errorf("%s: %w", f.name, err)
		}
	}()
	if there.redis, err = newRedis(ctx, kube, namespace, f); err != nil {
		return measured, err
	}
	for number := range runs {
		one, err := there.once(ctx, number+1)
		if one.report != nil {
			measured.add(one)
			fmt.Printf("  run %d: %s\n", number+1, one)
		}
		if err != nil {
			measured.note("stopped: a run did not come to its end")
			fmt.Printf("  run %d: %v\n", number+1, err)
			return measured, fmt.Errorf("run %d: %w", number+1, err)
		}
	}
	return measured, nil
}

// String is a run in a line.
func (r result) String() string {
	parts := []string{}
	for _, gap := range r.gaps {
		parts = append(parts, text(gap))
	}
	line := fmt.Sprintf("gap %s (%s before the fault); %d acknowledged, %d confirmed; lost W %d, A %s; errors %s", strings.Join(parts, " "),
		text(r.report.Quiet), r.report.Acked, r.report.Confirmed, r.report.Lost.Confirmed, plainLost(r.report.Lost), errorsText(r.report.Errors))
	if r.report.Lost.Example != "" {
		line += "; lost for example " + r.report.Lost.Example
	}
	return strings.Join(slices.Concat([]string{line}, r.problems, r.broken), "\n    ")
}

func writeDocument(file string, faults []*fault, lines map[string]string) error {
	if file == "" || len(lines) == 0 {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	document, err := updated(string(content), faults, lines)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(document), 0o644)
}
