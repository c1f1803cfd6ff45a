package sim

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	cachev1 "example.com/redis-operator/api/v1"
)

// fromEnv reads the number of schedules, or the first seed: SEEDS=1 SEED=123 replays one. TERSE=1 leaves transcripts out.
func fromEnv(name string, absent uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return absent
}

// TestMain lets one goroutine run at a time: where two of the operator's wake at the same instant of virtual time, Go's scheduler
// then chooses the same one each time. (The other processors are used by other processes, see TestRandomSchedules.) And it lets
// garbage lie longer: a schedule needs few megabytes, and makes some hundreds of garbage.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

// few is how many schedules are not worth another process.
const few = 20

func TestRandomSchedules(t *testing.T) {
	first, count := fromEnv("SEED", 1), fromEnv("SEEDS", 200)
	shard, shards := fromEnv("SHARD", 0), fromEnv("SHARDS", 0)
	if shards == 0 && count > few {
		share(t, runtime.NumCPU())
		return
	}
	for seed := first + shard; seed < first+count; seed += max(shards, 1) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			w := simulate(t, seed, false)
			for _, violation := range w.violations {
				t.Error(violation)
			}
			if os.Getenv("TERSE") == "" && t.Failed() || testing.Verbose() && count == 1 {
				t.Logf("SEEDS=1 SEED=%d go test ./test/sim -run TestRandomSchedules -v\n%s", seed, simulate(t, seed, true).transcript.String())
			}
		})
	}
}

// share runs the schedules in as many processes as there are processors.
func share(t *testing.T, shards int) {
	t.Helper()
	var all sync.WaitGroup
	outputs, failed := make([]string, shards), make([]error, shards)
	for shard := range shards {
		all.Go(func() {
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestRandomSchedules$", "-test.timeout", flag.Lookup("test.timeout").Value.String())
			command.Env = append(os.Environ(), "SHARD="+strconv.Itoa(shard), "SHARDS="+strconv.Itoa(shards))
			output, err := command.CombinedOutput()
			outputs[shard], failed[shard] = string(output), err
		})
	}
	all.Wait()
	for shard, err := range failed {
		if err != nil {
			t.Errorf("%v\n%s", err, strings.TrimSuffix(outputs[shard], "FAIL\n"))
		}
	}
}

// simulate runs the schedule of a seed, with a transcript or without: sizes and policies in turn.
func simulate(t *testing.T, seed uint64, told bool) *world {
	t.Helper()
	policy := cachev1.FailoverSafe
	if seed%5 == 0 {
		policy = cachev1.FailoverBestEffort
	}
	var w *world
	synctest.Test(t, func(*testing.T) {
		w = newWorld(seed)
		w.quietly = !told
		w.run(int32(1+seed%4), policy)
	})
	return w
}

func TestAScheduleReplays(t *testing.T) {
	for _, seed := range []uint64{3, 7, 11} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			one, other := simulate(t, seed, true).transcript.String(), simulate(t, seed, true).transcript.String()
			if one != other {
				t.Error("a schedule did not pass the same way twice")
			}
		})
	}
}
