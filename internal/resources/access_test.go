package resources

import (
	"strings"
	"testing"

	"example.com/redis-operator/internal/state"
)

func TestDefaultUser(t *testing.T) {
	for name, c := range map[string]struct {
		access state.Access
		want   string
	}{
		"no password":       {state.Access{}, "reset on nopass ~* &* +@all"},
		"a password":        {state.Access{DefaultHash: "abc"}, "reset on #abc ~* &* +@all"},
		"a missing Secret":  {state.Access{Missing: "no Secret"}, "reset"},
		"missing and known": {state.Access{Missing: "no Secret", DefaultHash: "abc"}, "reset"},
	} {
		if got := strings.Join(DefaultUserRules(c.access), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestAccessHashIsOfTheDefaultUserAlone(t *testing.T) {
	old := AccessHash(state.Access{DefaultHash: "a", OperatorHash: "x"})
	if old == AccessHash(state.Access{DefaultHash: "b", OperatorHash: "x"}) {
		t.Error("another password has the same hash")
	}
	if old != AccessHash(state.Access{DefaultHash: "a", OperatorHash: "y", SeedKnown: true}) {
		t.Error("the operator's own password changes the hash")
	}
}

// All is not asked for while access is unknown; if it is, no node may be open or broken.
func TestUnknownAccessClosesTheNodes(t *testing.T) {
	rules := AccessRules(state.Access{Missing: "no Secret"})
	if strings.Contains(rules, "nopass ~*") || strings.Contains(rules, "# ") {
		t.Error(rules)
	}
	w := minimal()
	w.Access = state.Access{Missing: "no Secret"}
	if len(All(w, nil, 0)) == 0 {
		t.Error("nothing built")
	}
}

func TestDerive(t *testing.T) {
	seen := map[string]string{}
	for _, c := range []struct {
		seed, user string
		generation int64
	}{{"s", "a", 1}, {"s", "a", 2}, {"s", "b", 1}, {"t", "a", 1}} {
		got := Derive([]byte(c.seed), c.user, c.generation)
		if len(got) != 64 || seen[got] != "" || got != Derive([]byte(c.seed), c.user, c.generation) {
			t.Errorf("%+v: %s", c, got)
		}
		seen[got] = c.user
	}
	// As openssl has it: printf 'redis-operator|1' | openssl dgst -sha256 -hmac seed
	if got := Derive([]byte("seed"), "redis-operator", 1); got != "7ae81b9ae3070a10c4e6af41f8a59eba7d1f8a682fa7fa406156294305b77664" {
		t.Error(got)
	}
	if got := PasswordHash("password"); got != "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8" {
		t.Error(got)
	}
}
