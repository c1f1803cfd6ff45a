package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"example.com/redis-operator/hack/archive"
)

func TestTheSameFilesGiveTheSameArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "below", "x.tar")
	for i, want := range []bool{true, false} {
		changed, err := archive.Program("docker.io/library/x:dev", "x", []byte("program")).WriteTo(file)
		if err != nil || changed != want {
			t.Errorf("write %d: changed %t, error %v", i, changed, err)
		}
	}
	changed, err := archive.Program("docker.io/library/x:dev", "x", []byte("another")).WriteTo(file)
	if err != nil || !changed {
		t.Errorf("another program: changed %t, error %v", changed, err)
	}
}

func TestTheArchiveIsConsistent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	if _, err := archive.Program("docker.io/library/x:dev", "x", []byte("program")).WriteTo(file); err != nil {
		t.Fatal(err)
	}
	content := readTar(t, file)
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(content["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 {
		t.Fatalf("manifest %s, error %v", content["manifest.json"], err)
	}
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(content[manifest[0].Config], &config); err != nil {
		t.Fatalf("configuration %q: %v", manifest[0].Config, err)
	}
	if want := "sha256:" + archive.HexSum(unzip(t, content[manifest[0].Layers[0]])); config.RootFS.DiffIDs[0] != want {
		t.Errorf("the configuration says %s of a layer that is %s", config.RootFS.DiffIDs[0], want)
	}
	if config.Config.Entrypoint[0] != "/x" {
		t.Errorf("entrypoint %v", config.Config.Entrypoint)
	}
}

func unzip(t *testing.T, zipped []byte) []byte {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func readTar(t *testing.T, name string) map[string][]byte {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	content := map[string][]byte{}
	for files := tar.NewReader(file); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err != nil {
			t.Fatal(err)
		}
		if content[header.Name], err = io.ReadAll(files); err != nil {
			t.Fatal(err)
		}
	}
}
