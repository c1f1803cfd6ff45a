package main

import (
	"os"
	"slices"
	"testing"
)

func TestStartTimeOfProcessesWithOddNames(t *testing.T) {
	const rest = " S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 10 11"
	for stat, want := range map[string]string{
		"42 (etcd)" + rest:          "987654",
		"42 (a b) c)" + rest:        "987654",
		"42 (etcd) Z" + rest[2:]:    "", // ended, but nobody has asked for its result yet
		"42 (etcd) S 1":             "",
		"":                          "",
		"42 (x) S 1 1 1 0 -1 4 1 2": "",
	} {
		got, err := startTime(stat)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", stat, got, err, want)
		}
	}
}

// Two processes that had the same number must never be taken for each other.
func TestIdentityTellsProcessesApart(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	own, err := identityOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	again, err := identityOf(os.Getpid())
	if err != nil || own != again {
		t.Errorf("%+v, then %+v, error %v", own, again, err)
	}
	first, err := identityOf(1)
	if err != nil || first == own || first.Start == "" {
		t.Errorf("process 1 is %+v, this one %+v, error %v", first, own, err)
	}
}

func TestMountPointsBelowComeInnermostFirst(t *testing.T) {
	const mountinfo = `30 24 0:26 / /state/a/nodes/n1/netns rw - nsfs nsfs rw
31 24 0:27 / /state/ab rw - tmpfs tmpfs rw
32 24 0:27 / /state/a/x rw - tmpfs tmpfs rw
33 32 0:27 / /state/a/x/y rw - tmpfs tmpfs rw
34 24 0:27 / /other/state/a/x rw - tmpfs tmpfs rw
`
	got := mountPointsBelow("/state/a", mountinfo)
	if want := []string{"/state/a/x/y", "/state/a/x", "/state/a/nodes/n1/netns"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestACableIsUpWhenItIsPluggedInEvenIfTheOtherEndIsNot(t *testing.T) {
	for link, want := range map[string]bool{
		"3: n1@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue master br0 state UP":     true,
		"3: n1@if2: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state LOWERLAYERDOWN":  true,
		"3: n1@if2: <BROADCAST,MULTICAST> mtu 1500 qdisc noqueue master br0 state DOWN mode DEFAULT":  false,
		"3: n1@if2: <BROADCAST,MULTICAST,M-DOWN> mtu 1500 qdisc noop state DOWN mode DEFAULT group 0": false,
		"": false,
	} {
		if got := isUp(link); got != want {
			t.Errorf("%q: %t", link, got)
		}
	}
}
