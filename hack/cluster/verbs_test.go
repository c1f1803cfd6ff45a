package main

import (
	"strings"
	"testing"
)

func TestEnvOfAClusterThatIsNotUpSaysSo(t *testing.T) {
	c := testCluster(t, func(o *Options) { o.Name = "of-a-test-and-never-up" })
	if words := c.warnIfDown(); !strings.Contains(words, "of-a-test-and-never-up is not up") || !strings.Contains(words, "make cluster-up") {
		t.Errorf("it says %q", words)
	}
}
