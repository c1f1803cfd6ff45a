// Package archive writes container images as docker archives, which containerd imports, without a container engine. The same
// files give the same bytes.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// PathVariable is where an image's programs are looked for.
const PathVariable = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Image is one of a single layer.
type Image struct {
	Reference string // in full, as containerd stores it: docker.io/library/redis:7.0
	Config    v1.Config
	Files     []File
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
func Program(reference, program string, content []byte) Image {
	return Image{
		Reference: reference,
		Config:    v1.Config{User: "65532:65532", Entrypoint: []string{"/" + program}, WorkingDir: "/", Env: []string{PathVariable}},
		Files: []File{
			{Name: "etc", Mode: 0o755, Kind: Folder},
			{Name: "etc/group", Mode: 0o644, Kind: Regular, Content: []byte("root:x:0:\nnonroot:x:65532:\n")},
			{Name: "etc/passwd", Mode: 0o644, Kind: Regular, Content: []byte("root:x:0:0::/:/\nnonroot:x:65532:65532::/:/\n")},
			{Name: program, Mode: 0o755, Kind: Regular, Content: content},
			{Name: "tmp", Mode: 0o1777, Kind: Folder},
		},
	}
}

// WriteTo writes the image as a docker archive. It tells whether the file has changed.
func (i Image) WriteTo(out string) (changed bool, err error) {
	archive, err := i.archive()
	if err != nil {
		return false, fmt.Errorf("image %s: %w", i.Reference, err)
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

func (i Image) archive() ([]byte, error) {
	files, err := tarOf(i.Files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithCompressionLevel(gzip.BestSpeed))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	configuration, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	configuration = configuration.DeepCopy()
	configuration.Architecture, configuration.OS, configuration.Config = runtime.GOARCH, "linux", i.Config
	configuration.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	if image, err = mutate.ConfigFile(image, configuration); err != nil {
		return nil, err
	}
	reference, err := name.NewTag(i.Reference)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = tarball.Write(reference, image, &out)
	return out.Bytes(), err
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
