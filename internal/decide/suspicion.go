package decide

import (
	"time"

	cachev1 "example.com/redis-operator/api/v1"
	"example.com/redis-operator/internal/plan"
	"example.com/redis-operator/internal/state"
)

// verdict is what is to be thought of a claimed primary that does not answer as one.
type verdict struct {
	// lost is true if it may be replaced, once enough others are frozen; why says what happened to it.
	lost bool
	why  string
	// since is when it was lost.
	since time.Time
	// dead is true if nothing of its process is left, for certain.
	dead bool
	// mayAcknowledge is true if it may still run, and acknowledge until it has missed its replicas for the max lag.
	mayAcknowledge bool
}

// judge tells whether the claimed primary may be replaced; what is waited for is in the plan.
func judge(s *state.Snapshot, now time.Time, p *plan.Plan) verdict {
	n, since := s.Claimed(), lostAt(s)
	if why, dead := s.CertainlyDead(now); dead {
		return verdict{lost: true, dead: true, why: why, since: since}
	}
	what := "it is silent"
	switch {
	case n == nil:
		what = "its pod is gone, and whether its process ended is not certain"
	case n.Link == state.LinkRefused:
		if witness := s.StillHears(s.Timeout()-time.Second, now); witness != nil {
			if p.WakeWithin(vetoLook); now.Sub(since) >= worthTelling { // until then the witness is about to notice too
				veto(s, witness, p)
			}
			return verdict{}
		}
		return verdict{lost: true, why: "nothing listens at its address", since: since}
	case n.Link != state.LinkSilent:
		return verdict{} // not asked yet, loading, or it refuses the operator (said elsewhere)
	}
	silent := now.Sub(since)
	if silent < s.Timeout() {
		p.WakeWithin(s.Timeout() - silent)
		return verdict{}
	}
	if witness := s.StillHears(s.Timeout()-time.Second, now); witness != nil {
		veto(s, witness, p)
		p.WakeWithin(vetoLook)
		return verdict{}
	}
	return verdict{lost: true, mayAcknowledge: true, why: what, since: since}
}

// vetoLook is when to look again at a primary that somebody else still hears.
const vetoLook = time.Second

func veto(s *state.Snapshot, witness *state.Node, p *plan.Plan) {
	p.Block(cachev1.ReasonPrimaryUnreachable, "primary %s does not answer the operator, but %s still copies from it: it stays the primary",
		s.Claim.Primary.Name, witness.Pod.Name)
}
