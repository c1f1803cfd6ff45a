// Package archive writes container images as docker archives, which containerd imports, without a container engine. The same
// files give the same bytes.
package archive

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

// PathVariable is where an image's programs are looked for.
const PathVariable = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Image is one of a single layer.
type Image struct {
	Reference string // in full, as containerd stores it: docker.io/library/redis:7.0
	Config    Config
	Files     []File
}

// Config is what the image says about its container, in the words of the image format.
type Config struct {
	User         string              `json:",omitempty"`
	ExposedPorts map[string]struct{} `json:",omitempty"`
	Env          []string            `json:",omitempty"`
	Entrypoint   []string            `json:",omitempty"`
	Cmd          []string            `json:",omitempty"`
	Volumes      map[string]struct{} `json:",omitempty"`
	WorkingDir   string              `json:",omitempty"`
}

// Kind of a file, as tar has it.
type Kind byte

// The kinds of which images consist.
const (
	Regular Kind = tar.TypeReg
	Folder  Kind = tar.TypeDir
	Symlink Kind = tar.TypeSymlink
)

// File is one in an image.
type File struct {
	Name    string // without a slash in front
	Mode    int64
	Owner   int // user and group
	Kind    Kind
	Content []byte
	Target  string // of a symlink
}

// Program returns the image of a single static program, which runs as a user without rights.
func Program(reference, name string, content []byte) Image {
	return Image{
		Reference: reference,
		Config:    Config{User: "65532:65532", Entrypoint: []string{"/" + name}, WorkingDir: "/", Env: []string{PathVariable}},
		Files: []File{
			{Name: "etc", Mode: 0o755, Kind: Folder},
			{Name: "etc/group", Mode: 0o644, Kind: Regular, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
			{Name: "etc/passwd", Mode: 0o644, Kind: Regular, Content: []byte("root:x:0:0::/:/\nnonroot:x:65532:65532::/:/\n")},
			{Name: name, Mode: 0o755, Kind: Regular, Content: content},
			{Name: "tmp", Mode: 0o1777, Kind: Folder},
		},
	}
}

// WriteTo writes the layer, the configuration, and a manifest that names both. It tells whether the file has changed.
func (i Image) WriteTo(out string) (changed bool, err error) {
	layer, err := tarOf(i.Files)
	if err != nil {
		return false, err
	}
	configuration, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"created":      time.Unix(0, 0).UTC(),
		"config":       i.Config,
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + HexSum(layer)}},
	})
	if err != nil {
		return false, err
	}
	configName, layerName := HexSum(configuration)+".json", HexSum(layer)+"/layer.tar"
	manifest, err := json.Marshal([]map[string]any{
		{"Config": configName, "RepoTags": []string{i.Reference}, "Layers": []string{layerName}},
	})
	if err != nil {
		return false, err
	}
	archive, err := tarOf([]File{
		{Name: "manifest.json", Mode: 0o644, Kind: Regular, Content: manifest},
		{Name: configName, Mode: 0o644, Kind: Regular, Content: configuration},
		{Name: layerName, Mode: 0o644, Kind: Regular, Content: layer},
	})
	if err != nil {
		return false, err
	}
	if existing, err := os.ReadFile(out); err == nil && bytes.Equal(existing, archive) {
		return false, nil
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return false, err
	}
	// Renamed, so that nobody ever loads half an archive.
	unfinished := fmt.Sprintf("%s.%d", out, os.Getpid())
	if err := os.WriteFile(unfinished, archive, 0o644); err != nil {
		return false, err
	}
	return true, os.Rename(unfinished, out)
}

// tarOf depends on nothing but the files: neither on the time nor on who builds.
func tarOf(files []File) ([]byte, error) {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, f := range files {
		header := &tar.Header{
			Name: f.Name, Mode: f.Mode, Uid: f.Owner, Gid: f.Owner, ModTime: time.Unix(0, 0),
			Typeflag: byte(f.Kind), Linkname: f.Target, Size: int64(len(f.Content)), Format: tar.FormatPAX,
		}
		if f.Kind == Folder {
			header.Name += "/"
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if _, err := writer.Write(f.Content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// HexSum is the SHA-256 of a content.
func HexSum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
