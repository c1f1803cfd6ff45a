package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/redis-operator/test/bench/measure"
)

const ms = time.Millisecond

func TestEveryFaultHasWhatARunNeeds(t *testing.T) {
	names := map[string]bool{}
	for _, f := range allFaults() {
		require.NotEmpty(t, f.name)
		require.False(t, names[f.name], f.name)
		names[f.name] = true
		require.NotContains(t, f.name, " ")
		require.NotContains(t, f.name, ",")
		require.NotEmpty(t, f.says, f.name)
		require.NotNil(t, f.strike, f.name)
		require.Positive(t, f.bar.usual, f.name)
		require.GreaterOrEqual(t, f.bar.far, f.bar.usual, f.name)
		require.Positive(t, f.runs, f.name)
		require.LessOrEqual(t, len(f.name), 63, "it is the value of a label")
	}
}

func TestFaultsAreChosenByName(t *testing.T) {
	all := allFaults()
	some, err := chosen(all, "cordon, kill-primary")
	require.NoError(t, err)
	require.Equal(t, []string{"cordon", "kill-primary"}, []string{some[0].name, some[1].name})
	_, err = chosen(all, "kill-everything")
	require.ErrorContains(t, err, "kill-everything")
	every, err := chosen(all, "")
	require.NoError(t, err)
	require.Len(t, every, len(all))
}

func TestLine(t *testing.T) {
	for _, tc := range []struct {
		name  string
		fault fault
		runs  []result
		want  string
	}{
		{
			"all is well", fault{name: "kill-primary", bar: crashBar},
			[]result{
				{gaps: []time.Duration{100 * ms}, report: &measure.Report{Lost: measure.Lost{Near: 2}, Errors: map[measure.Kind]int{measure.Refused: 2}}},
				{gaps: []time.Duration{900 * ms}, report: &measure.Report{Errors: map[measure.Kind]int{measure.Closed: 4, measure.Refused: 1}}},
				{gaps: []time.Duration{200 * ms}, report: &measure.Report{}},
			},
			"| kill-primary | 3 | 200 ms | 900 ms | 200 ms / 1000 ms | 0 | 2: 2 within 50 ms of the fault | closed 4, refused 3 |  | v1 |\n",
		},
		{
			"too slow, and promises broken", fault{name: "node-cut", bar: silenceBar},
			[]result{
				{gaps: []time.Duration{12 * time.Second}, broken: []string{"both sides"}, report: &measure.Report{Lost: measure.Lost{Confirmed: 1, Older: 1, Oldest: 70 * ms, Holes: 2}}},
				{gaps: []time.Duration{2 * time.Second}, problems: []string{"a|b"}, broken: []string{"both sides"}, report: &measure.Report{}},
			},
			"| node-cut | 2 | 2000 ms | 12.0 s | 11.0 s / 11.0 s, **missed** | **1** | 1: 1 older, up to 70 ms, 2 out of order | none | a/b; both sides (2 times) | v1 |\n",
		},
		{
			"by a quantile", fault{name: "in-a-row", bar: bar{100 * ms, 150 * ms}, farQuantile: 0.5},
			[]result{{gaps: []time.Duration{90 * ms, 95 * ms, 400 * ms}, report: &measure.Report{}}},
			"| in-a-row | 1 | 95 ms | 400 ms (p50 95 ms) | 100 ms / 150 ms | 0 | 0 | none |  | v1 |\n",
		},
		{
			"nothing can survive it", fault{name: "kill-all", bar: crashBar, loses: true},
			[]result{{gaps: []time.Duration{90 * ms}, report: &measure.Report{Lost: measure.Lost{Confirmed: 7, After: 1}}}},
			"| kill-all | 1 | 90 ms | 90 ms | 200 ms / 1000 ms | 7, as must be | 1: 1 after it | none |  | v1 |\n",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			measured := row{fault: &tc.fault}
			for _, run := range tc.runs {
				measured.add(run)
			}
			require.Equal(t, tc.want, measured.line("v1"))
			require.Equal(t, strings.Contains(tc.want, "**1**"), measured.broken)
		})
	}
}

func TestABrokenPromiseCountsAlsoWithoutALostWrite(t *testing.T) {
	measured := row{fault: &fault{}}
	measured.add(result{report: &measure.Report{}, broken: []string{"both sides"}})
	require.True(t, measured.broken)
}

func TestTheTableKeepsWhatWasNotMeasuredNow(t *testing.T) {
	faults := []*fault{{name: "a"}, {name: "b"}, {name: "c"}}
	document := "# Text\n\n" + blockBegin + blockEnd + "\nMore.\n"
	document, err := updated(document, faults, map[string]string{"c": "| c | 1 |  | x |\n", "a": "| a | 1 |  | x |\n"})
	require.NoError(t, err)
	document, err = updated(document, faults, map[string]string{"b": "| b | 2 | y |\n", "c": "| c | 2 | y |\n"})
	require.NoError(t, err)
	require.Equal(t, "# Text\n\n"+blockBegin+"\n"+tableHead+"| a | 1 |  | x |\n| b | 2 | y |\n| c | 2 | y |\n\n"+blockEnd+"\nMore.\n", document)
	_, err = updated("# Text\n", faults, nil)
	require.Error(t, err)
}

func TestTheDocumentHasABlock(t *testing.T) {
	content, err := os.ReadFile("../../docs/benchmarks.md")
	require.NoError(t, err)
	_, err = updated(string(content), allFaults(), nil)
	require.NoError(t, err)
}

func TestUndoIsTheOtherWayRoundAndUntilItSucceeds(t *testing.T) {
	var done []string
	fails := 2
	u := &undos{}
	step := func(name string) func(context.Context) error {
		return u.add(name, func(context.Context) error {
			done = append(done, name)
			if name == "second" && fails > 0 {
				fails--
				return errors.New("no")
			}
			return nil
		})
	}
	early := step("first")
	second := step("second")
	step("third")
	require.NoError(t, early(t.Context()))
	require.ErrorContains(t, second(t.Context()), "second: no")
	require.ErrorContains(t, u.all(t.Context()), "second: no")
	require.NoError(t, u.all(t.Context()))
	require.NoError(t, u.all(t.Context()))
	require.Equal(t, []string{"first", "second", "third", "second", "second"}, done)
}

func TestAnImageGetsAnotherName(t *testing.T) {
	files := map[string]string{"config.json": "{}", "manifest.json": `[{"Config":"config.json","RepoTags":["docker.io/library/redis:7.0"],"Layers":["l"]}]`}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	for _, name := range []string{"config.json", "manifest.json"} {
		require.NoError(t, writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := writer.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	renamed, err := withReference(archive.Bytes(), "docker.io/library/redis:bench")
	require.NoError(t, err)
	found := map[string]string{}
	for reader := tar.NewReader(bytes.NewReader(renamed)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		found[header.Name] = string(content)
	}
	require.Equal(t, "{}", found["config.json"])
	var images []struct{ Config, RepoTags any }
	require.NoError(t, json.Unmarshal([]byte(found["manifest.json"]), &images))
	require.Equal(t, []any{"docker.io/library/redis:bench"}, images[0].RepoTags)
	require.Equal(t, "config.json", images[0].Config)
	_, err = withReference(nil, "x")
	require.Error(t, err)
}

func TestOnlyALocalClustersKubeconfigIsOne(t *testing.T) {
	require.Nil(t, localClusterOf(""))
	require.Nil(t, localClusterOf(t.TempDir()+"/kubeconfig"))
}
