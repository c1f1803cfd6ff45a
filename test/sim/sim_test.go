package sim

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"
	"testing/synctest"

	cachev1 "example.com/redis-operator/api/v1"
)

// number of schedules, and the first seed: SEEDS=1 SEED=123 replays one.
func fromEnv(name string, absent uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return absent
}

// TestMain lets garbage lie longer: a schedule needs few megabytes, and makes a gigabyte of garbage.
func TestMain(m *testing.M) {
	debug.SetGCPercent(1000)
	os.Exit(m.Run())
}

func TestRandomSchedules(t *testing.T) {
	first, count := fromEnv("SEED", 1), fromEnv("SEEDS", 200)
	for seed := first; seed < first+count; seed++ {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			w := simulate(t, seed, false)
			for _, violation := range w.violations {
				t.Error(violation)
			}
			if t.Failed() || testing.Verbose() && count == 1 {
				t.Logf("SEEDS=1 SEED=%d go test ./test/sim -run TestRandomSchedules -v\n%s", seed, simulate(t, seed, true).transcript.String())
			}
		})
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
			t.Parallel()
			one, other := simulate(t, seed, true).transcript.String(), simulate(t, seed, true).transcript.String()
			if one != other {
				t.Error("a schedule did not pass the same way twice")
			}
		})
	}
}
