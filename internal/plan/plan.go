// Package plan holds the verbs of the operator: what decide may ask for, as plain values with the reason for each.
package plan

import (
	"fmt"
	"strings"
	"time"
)

// Plan is what decide makes of a snapshot: what to do, what not to do and why, and when to look again.
type Plan struct {
	Lanes [LaneCount]Lane
	// Blocked lists what would be done and may not be now, so that waiting is visible.
	Blocked []Blocked
	// Wake is when to look again even if nothing happens; zero means never.
	Wake time.Duration
}

// LaneName names one of the three independent lanes of a plan.
type LaneName int

const (
	// Safety: roles, fence, failover, and where the Service leads.
	Safety LaneName = iota
	// Objects: what exists in Kubernetes.
	Objects
	// Upkeep: users, labels, gates.
	Upkeep
	// LaneCount is the number of lanes.
	LaneCount
)

// String names the lane for logs and metrics.
func (l LaneName) String() string { return [...]string{"safety", "objects", "upkeep"}[l] }

// Lane is a sequence of steps. It stops at its first error; the other lanes go on.
type Lane struct{ Steps []Step }

// Step is one action with the reason for it.
type Step struct {
	Action Action
	Why    Reason
}

// Reason is why something is or is not done: a code for machines, a sentence for people.
type Reason struct {
	Code    string
	Message string
}

// Blocked is something that is not done, by the name of the rule that forbids it.
type Blocked struct {
	// Rule is a condition reason of the API package.
	Rule    string
	Message string
}

// Add appends a step to a lane.
func (p *Plan) Add(lane LaneName, action Action, code, format string, args ...any) {
	p.Lanes[lane].Steps = append(p.Lanes[lane].Steps, Step{Action: action, Why: Reason{Code: code, Message: fmt.Sprintf(format, args...)}})
}

// Block records that something is not done.
func (p *Plan) Block(rule, format string, args ...any) {
	p.Blocked = append(p.Blocked, Blocked{Rule: rule, Message: fmt.Sprintf(format, args...)})
}

// WakeWithin asks for another look within d; the shortest wins.
func (p *Plan) WakeWithin(d time.Duration) {
	if d > 0 && (p.Wake == 0 || d < p.Wake) {
		p.Wake = d
	}
}

// Empty tells whether the plan does nothing.
func (p *Plan) Empty() bool {
	for _, lane := range p.Lanes {
		if len(lane.Steps) > 0 {
			return false
		}
	}
	return true
}

// String tells the plan as a story, for tests and logs.
func (p *Plan) String() string {
	var b strings.Builder
	for name, lane := range p.Lanes {
		for _, step := range lane.Steps {
			fmt.Fprintf(&b, "%s: %s (%s)\n", LaneName(name), step.Action, step.Why.Code)
		}
	}
	for _, blocked := range p.Blocked {
		fmt.Fprintf(&b, "blocked: %s: %s\n", blocked.Rule, blocked.Message)
	}
	return b.String()
}

// Result is how a step ended.
type Result int

const (
	// Done: the step changed the world.
	Done Result = iota
	// Already: the world was as wanted.
	Already
	// NotNow: the live target is not as the plan took it to be; a new look will tell. Not an error.
	NotNow
	// Failed: tried and refused or unreachable.
	Failed
)

// String names the result for logs and metrics.
func (r Result) String() string { return [...]string{"done", "already", "notnow", "failed"}[r] }

// StepOutcome is how one step of a plan ended.
type StepOutcome struct {
	Lane   LaneName
	Step   Step
	Result Result
	// Note says why, for NotNow; Err is set for Failed.
	Note string
	Err  error
	// Lasting is true for NotNow if a new look would find the same: something else has to happen first.
	Lasting bool
	Took    time.Duration
}

// Outcome is how the plan was carried out, in order.
type Outcome struct{ Steps []StepOutcome }

// Changed tells whether any step changed the world or found it different from the plan, so that a new look is due.
func (o *Outcome) Changed() bool {
	for _, step := range o.Steps {
		if step.Result == Done || step.Result == NotNow && !step.Lasting {
			return true
		}
	}
	return false
}

// NameConflictError tells that an object which this resource needs exists and belongs to something else.
type NameConflictError struct{ Kind, Name string }

// Error says what a person can do.
func (e *NameConflictError) Error() string {
	return fmt.Sprintf("%s %s exists and does not belong to this resource; remove it, or give this resource another name", e.Kind, e.Name)
}

// Err is the first failure in the outcome; nil where no step failed.
func (o *Outcome) Err() error {
	for _, step := range o.Steps {
		if step.Result == Failed {
			return fmt.Errorf("%s: %w", step.Step.Action, step.Err)
		}
	}
	return nil
}
