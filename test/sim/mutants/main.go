// Command mutants breaks one rule of the product at a time and checks that the simulation notices.
//
//	go run ./test/sim/mutants [name ...]
//
// A mutant is a named replacement of text in one file (list.go). It is built with go test -overlay, so the tree stays as it is. Each
// must make the simulation fail, by an invariant, within a bounded number of schedules; one that survives is a rule that nothing
// judges. A text that is not found exactly once fails the run and is named: the product has changed, and the mutant must follow.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mutant is one rule broken.
type mutant struct {
	name string
	// rule is what is broken, in words.
	rule string
	file string
	old  string
	new  string
	// by is what the violation must say, a regular expression; empty for what most rules protect (judged).
	by string
	// seeds is within how many schedules the simulation must fail; 0 is 1000.
	seeds int
}

// judged are the violations that tell of a broken rule. That something does not settle, or is written again and again, may be
// another rule's fault.
const judged = `I1|I2|recorded|promoted|copies all|told to copy|loses|on record|Service is led|gate|belongs to|follows on|differ`

const (
	defaultSeeds = 1000
	// chunk is how many schedules run before it is asked whether one has failed.
	chunk = 100
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return len(names) > 0 && !slices.Contains(names, m.name) })
	if len(chosen) == 0 {
		return fmt.Errorf("there is no mutant %s", strings.Join(names, ", "))
	}
	var stale []string
	for _, m := range chosen {
		if _, err := m.mutated(); err != nil {
			stale = append(stale, err.Error())
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("these must follow the product:\n  %s", strings.Join(stale, "\n  "))
	}
	own, err := failures()
	if err != nil {
		return err
	}
	if len(own) > 0 {
		fmt.Printf("left out, since the product itself fails in them: schedules %s\n", strings.Join(slices.Sorted(maps.Keys(own)), ", "))
	}
	var survived []string
	for _, m := range chosen {
		began := time.Now()
		fate, err := m.fate(own)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if fate == "" {
			fate = "SURVIVES"
			survived = append(survived, m.name)
		}
		fmt.Printf("%-30s %s (%.0f s)\n", m.name, fate, time.Since(began).Seconds())
	}
	if len(survived) > 0 {
		return fmt.Errorf("%d of %d survive: %s", len(survived), len(chosen), strings.Join(survived, ", "))
	}
	fmt.Printf("all %d mutants are noticed\n", len(chosen))
	return nil
}

// mutated is the file with the rule broken.
func (m mutant) mutated() ([]byte, error) {
	text, err := os.ReadFile(m.file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.name, err)
	}
	if count := bytes.Count(text, []byte(m.old)); count != 1 && m.old != "" {
		return nil, fmt.Errorf("%s: its text is %d times in %s, not once", m.name, count, m.file)
	}
	return bytes.Replace(text, []byte(m.old), []byte(m.new), 1), nil
}

// failures are the schedules in which the product fails as it is.
func failures() (map[string]bool, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	binary, err := mutant{file: mutants[0].file}.build(dir)
	if err != nil {
		return nil, err
	}
	most := defaultSeeds
	for _, m := range mutants {
		most = max(most, m.seeds)
	}
	own := map[string]bool{}
	output, _ := schedules(binary, 1, most)
	for _, violation := range firstViolation.FindAllStringSubmatch(output, -1) {
		own[violation[1]] = true
	}
	return own, nil
}

// fate tells how the mutant is noticed, other than in the schedules where the product fails anyway; empty if it is not.
func (m mutant) fate(own map[string]bool) (string, error) {
	dir, err := os.MkdirTemp("", "mutant")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	binary, err := m.build(dir)
	if err != nil {
		return "", err
	}
	bound := m.seeds
	if bound == 0 {
		bound = defaultSeeds
	}
	tells := regexp.MustCompile(cmp.Or(m.by, judged))
	for first := 1; first <= bound; first += chunk {
		output, failed := schedules(binary, first, min(chunk, bound-first+1))
		if !failed {
			continue
		}
		violations := firstViolation.FindAllStringSubmatch(output, -1)
		if len(violations) == 0 {
			return "", fmt.Errorf("it fails without a violation:\n%s", output[:min(len(output), 4000)])
		}
		for _, violation := range violations {
			if !own[violation[1]] && tells.MatchString(violation[2]) {
				return fmt.Sprintf("schedule %s: %s", violation[1], strings.TrimSpace(violation[2])), nil
			}
		}
	}
	return "", nil
}

// firstViolation is in the output of go test: the failed schedule, and what it said first.
var firstViolation = regexp.MustCompile(`--- FAIL: TestRandomSchedules/(\d+) .*\n\s+sim_test\.go:\d+: (.{1,110})`)

// build makes the simulation's test program with the rule broken.
func (m mutant) build(dir string) (string, error) {
	text, err := m.mutated()
	if err != nil {
		return "", err
	}
	replaced := filepath.Join(dir, "mutated.go")
	original, err := filepath.Abs(m.file)
	if err != nil {
		return "", err
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {original: replaced}})
	if err != nil {
		return "", err
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "sim.test")
	if err := os.WriteFile(replaced, text, 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	output, err := exec.Command("go", "test", "-overlay", list, "-c", "-o", binary, "./test/sim").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("it does not build: %w\n%s", err, output)
	}
	return binary, nil
}

// schedules runs some, and tells whether one failed.
func schedules(binary string, first, count int) (output string, failed bool) {
	command := exec.Command(binary, "-test.run", "^TestRandomSchedules$", "-test.timeout", "20m")
	command.Dir = "test/sim"
	command.Env = append(os.Environ(), "SEED="+strconv.Itoa(first), "SEEDS="+strconv.Itoa(count), "TERSE=1")
	text, err := command.CombinedOutput()
	return string(text), err != nil
}
