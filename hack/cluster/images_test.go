package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/redis-operator/hack/archive"
)

func TestReferencesAreReadFromTheArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	if _, err := archive.Program("docker.io/library/x:dev", "x", []byte("program")).WriteTo(file); err != nil {
		t.Fatal(err)
	}
	image, err := readImageFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(image.references, []string{"docker.io/library/x:dev"}) || image.digest != archive.HexSum(content) {
		t.Errorf("got %+v", image)
	}
}

func TestWhatIsNoArchiveOfImagesIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.tar")
	if err := os.WriteFile(file, []byte(strings.Repeat("not a tar file ", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, filepath.Join(dir, "missing.tar")} {
		if image, err := readImageFile(name); err == nil {
			t.Errorf("%s: got %+v", name, image)
		}
	}
}

func TestReadinessIsReadFromTheNodesStatus(t *testing.T) {
	for text, want := range map[string]string{
		`{"status":{"conditions":[{"type":"DiskPressure","status":"False"},{"type":"Ready","status":"True"}]}}`:      "",
		`{"status":{"conditions":[{"type":"Ready","status":"False","message":"network plugin is not ready"}]}}`:      "network plugin is not ready",
		`{"status":{"conditions":[{"type":"Ready","status":"Unknown","message":"Kubelet stopped posting status"}]}}`: "Kubelet stopped",
		`{"status":{}}`: "has not reported",
		`nonsense`:      "invalid",
	} {
		err := readyInStatus([]byte(text))
		if (err == nil) != (want == "") || (err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
