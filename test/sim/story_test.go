package sim

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	cachev1 "example.com/redis-operator/api/v1"
)

// stories are what the operator does about one thing that happens to a resource of size 3, each in testdata/<name>.golden. After a
// meant change: UPDATE=1 go test ./test/sim -run TestStories, then read the difference.
var stories = []struct {
	name   string
	happen func(w *world)
}{
	{"primary-killed", func(w *world) { w.crashPrimary() }},
	{"primary-killed-and-a-replica-cut-off", func(w *world) {
		op, p := w.operators[0].name, w.replica()
		w.tell("FAULT: %s and %s cannot reach each other", op, p.short)
		w.network.cutBoth(op, p.ip)
		w.later(3*time.Second, w.crashPrimary)
		w.later(12*time.Second, func() { w.tell("%s and %s reach each other again", op, p.short); w.network.healBoth(op, p.ip) })
	}},
	{"primary-silent-then-back", func(w *world) { w.standStill(w.running(true).process, 12*time.Second) }},
	{"replica-killed", func(w *world) { w.tell("FAULT: %s crashes", w.replica().process.runID); w.crash(w.replica()) }},
	{"both-replicas-killed", func(w *world) {
		for _, p := range w.processes() {
			if !p.primary {
				w.tell("FAULT: %s crashes", p.runID)
				w.crash(p.pod)
			}
		}
	}},
	{"machine-cut-off", func(w *world) {
		m := w.machineOf(w.running(true))
		w.tell("FAULT: %s is cut off from everything", m.name)
		w.isolate(m, true)
		w.later(15*time.Second, func() { w.tell("%s is reached again", m.name); w.isolate(m, false) })
	}},
	{"machine-lost", func(w *world) {
		m := w.machineOf(w.running(true))
		w.tell("FAULT: %s dies", m.name)
		w.killMachine(m)
		w.later(20*time.Second, func() { w.machineGone(m) })
	}},
	{"operator-ends-between-claim-and-promotion", func(w *world) {
		w.endAfter = "claim epoch"
		w.crashPrimary()
		w.later(2*time.Second, func() { w.startOperator() })
	}},
	{"status-wiped", func(w *world) { w.wipeStatus() }},
	{"primary-pod-deleted", func(w *world) { w.tell("person: deletes %s", w.running(true).short); w.deletePod(w.running(true)) }},
	{"switchover", func(w *world) {
		w.tell("person: wants %s for the primary", w.replica().short)
		w.change(func(r *cachev1.RedisCluster) {
			r.Annotations = map[string]string{cachev1.AnnotationSwitchover: w.replica().name}
		})
	}},
	{"rollout", func(w *world) { w.changeImage() }},
	{"machine-drained", func(w *world) {
		m := w.machineOf(w.running(true))
		w.cordon(m, true)
		w.evict(m, time.Now().Add(10*time.Second))
	}},
}

// planned are those that must lose nothing that a client was told is done.
var planned = map[string]bool{"primary-pod-deleted": true, "switchover": true, "rollout": true, "machine-drained": true}

func TestStories(t *testing.T) {
	for _, story := range stories {
		t.Run(story.name, func(t *testing.T) {
			var told string
			synctest.Test(t, func(*testing.T) { told = tellStory(t, story.happen, planned[story.name]) })
			file := filepath.Join("testdata", story.name+".golden")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(file, []byte(told), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != told {
				t.Errorf("the story of %s is another one now:\n%s", file, told)
			}
		})
	}
}

// tellStory lets one thing happen to a settled world, and tells what follows until it is settled again.
func tellStory(t *testing.T, happen func(w *world), planned bool) string {
	t.Helper()
	w := newWorld(1)
	w.story = true
	w.do(func() {
		w.create(3, cachev1.FailoverSafe)
		w.keepOperatorApart()
		w.startOperator()
		w.controllers()
		w.startClients()
	})
	w.until(20*time.Second, func() bool { return w.settled() == "" })
	w.pass(3 * time.Second)
	began := time.Now()
	w.do(func() {
		w.start = began
		if !planned {
			w.troubledUntil = began.Add(time.Hour)
		}
		w.transcript.Reset()
		w.tell("%s is the primary of %s", w.running(true).short, w.names())
		happen(w)
	})
	w.pass(25 * time.Second)
	w.until(patience, func() bool { return w.settled() == "" })
	w.do(func() { w.tell("it is settled: %s", settledOr(w.settled())) })
	told := w.transcript.String()
	for _, v := range w.violations {
		t.Error(v)
	}
	w.end()
	return readable(told)
}

func settledOr(why string) string {
	if why == "" {
		return "yes"
	}
	return why
}

// replica is one that runs.
func (w *world) replica() *pod {
	for _, p := range w.processes() {
		if !p.primary {
			return p.pod
		}
	}
	return nil
}

func (w *world) names() string {
	var names []string
	for _, p := range w.processes() {
		names = append(names, p.pod.short)
	}
	return strings.Join(names, ", ")
}

func (w *world) machineOf(p *pod) *machine {
	for _, m := range w.machines {
		if m.name == p.machine {
			return m
		}
	}
	return nil
}

// keepOperatorApart gives the operator a machine of its own, where no pod of the resource goes.
func (w *world) keepOperatorApart() { w.operatorMachine = "m0" }

var (
	spoken    = regexp.MustCompile(`r-[0-9a-f]{8}-p(\d+)|run-p(\d+)-(\d+)|\bp(\d+)\b|operator(\d+)|10\.0\.\d+\.\d+`)
	digits    = regexp.MustCompile(` with \d+ writes|\d{12,}|\d+ ms|\d+ bytes|^\d+ acknowledged|^\d+ confirmed`)
	timestamp = regexp.MustCompile(`^ *(\d+)\.(\d)\d*s  `)
)

// readable gives pods letters in the order of their appearance, and their processes numbers; rounds times, and leaves out what
// changes with every message more or less.
func readable(transcript string) string {
	letters, operators, runs := map[string]string{}, map[string]string{}, map[string]string{}
	count := map[string]int{}
	letter := func(serial string) string {
		if letters[serial] == "" {
			letters[serial] = string(rune('A' + len(letters)))
		}
		return letters[serial]
	}
	var b strings.Builder
	for line := range strings.Lines(transcript) {
		at := timestamp.FindStringSubmatch(line)
		if at == nil {
			continue
		}
		text := spoken.ReplaceAllStringFunc(strings.TrimRight(line[len(at[0]):], " \n"), func(name string) string {
			m := spoken.FindStringSubmatch(name)
			switch {
			case m[1] != "" || m[4] != "":
				return letter(m[1] + m[4])
			case m[2] != "":
				if runs[name] == "" {
					count[m[2]]++
					runs[name] = letter(m[2]) + "." + strconv.Itoa(count[m[2]])
				}
				return runs[name]
			case m[5] != "":
				if operators[name] == "" {
					operators[name] = "operator" + strconv.Itoa(len(operators)+1)
				}
				return operators[name]
			}
			return "its address"
		})
		text = digits.ReplaceAllStringFunc(text, func(number string) string {
			switch {
			case strings.HasSuffix(number, " ms"):
				return "some ms"
			case strings.HasSuffix(number, " bytes"):
				return "some bytes"
			case strings.HasPrefix(number, " with"):
				return ""
			case strings.HasSuffix(number, "acknowledged"):
				return "some acknowledged"
			case strings.HasSuffix(number, "confirmed"):
				return "some confirmed"
			}
			return "T"
		})
		b.WriteString(strings.Repeat(" ", max(0, 4-len(at[1]))) + at[1] + "." + at[2] + " s  " + text + "\n")
	}
	return b.String()
}
