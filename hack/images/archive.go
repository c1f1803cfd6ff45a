package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

const pathVariable = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// image is one of a single layer.
type image struct {
	Reference string // in full, as containerd stores it: docker.io/library/redis:7.0
	Config    config
	Files     []file
}

// config is what the image says about its container, in the words of the image format.
type config struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
}

type kind byte

const (
	regular kind = tar.TypeReg
	folder  kind = tar.TypeDir
	symlink kind = tar.TypeSymlink
)

type file struct {
	name    string // without a slash in front
	mode    int64
	owner   int // user and group
	kind    kind
	content []byte
	target  string // of a symlink
}

// writeTo writes a docker archive: the layer, the configuration, and a manifest that names both.
func (i image) writeTo(out string) error {
	layer, err := tarOf(i.Files)
	if err != nil {
		return err
	}
	configuration, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      time.Unix(0, 0).UTC(),
		"config":       i.Config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + hexSum(layer)}},
	})
	if err != nil {
		return err
	}
	configName, layerName := hexSum(configuration)+".json", hexSum(layer)+"/layer.tar"
	manifest, err := json.Marshal([]map[string]any{
		{"Config": configName, "RepoTags": []string{i.Reference}, "Layers": []string{layerName}},
	})
	if err != nil {
		return err
	}
	archive, err := tarOf([]file{
		{name: "manifest.json", mode: 0o644, content: manifest},
		{name: configName, mode: 0o644, content: configuration},
		{name: layerName, mode: 0o644, content: layer},
	})
	if err != nil {
		return err
	}
	if existing, err := os.ReadFile(out); err == nil && bytes.Equal(existing, archive) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	// Renamed, so that nobody ever loads half an archive.
	unfinished := fmt.Sprintf("%s.%d", out, os.Getpid())
	if err := os.WriteFile(unfinished, archive, 0o644); err != nil {
		return err
	}
	fmt.Printf("[images] %s: %s, %d MB\n", out, i.Reference, len(archive)>>20)
	return os.Rename(unfinished, out)
}

// tarOf depends on nothing but the files: neither on the time nor on who builds.
func tarOf(files []file) ([]byte, error) {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, ModTime: time.Unix(0, 0),
			Typeflag: byte(f.kind), Linkname: f.target, Size: int64(len(f.content)), Format: tar.FormatPAX,
		}
		if f.kind == 0 {
			header.Typeflag = tar.TypeReg
		}
		if f.kind == folder {
			header.Name += "/"
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func hexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
