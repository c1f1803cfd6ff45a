package main

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"example.com/redis-operator/hack/archive"
)

// variant is a version of the server that one of Debian's suites has.
type variant struct {
	name      string
	reference string
	suite     string
	family    string // redis or valkey, as in redis-server and valkey-cli
}

var variants = []variant{
	{"redis-7.0", "docker.io/library/redis:7.0", "bookworm", "redis"},
	{"redis-8.0", "docker.io/library/redis:8.0", "trixie", "redis"},
	{"valkey-8.1", "docker.io/valkey/valkey:8.1", "trixie", "valkey"},
	{"valkey-9.1", "docker.io/valkey/valkey:9.1", "sid", "valkey"},
}

// serverUser is the number that the official images give the server's user and group.
const serverUser = 999

func variantNames() []string {
	names := make([]string, len(variants))
	for i, v := range variants {
		names[i] = v.name
	}
	return names
}

func variantNamed(name string) (variant, error) {
	i := slices.Index(variantNames(), name)
	if i < 0 {
		return variant{}, fmt.Errorf("no variant %q; have %s", name, strings.Join(variantNames(), ", "))
	}
	return variants[i], nil
}

// This program's own texts tell whether an image would come out the same.
//
//go:embed *.go docker-entrypoint.sh
var sources embed.FS

func fingerprint() (string, error) {
	entries, err := sources.ReadDir(".")
	if err != nil {
		return "", err
	}
	var all []byte
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		content, err := sources.ReadFile(entry.Name())
		if err != nil {
			return "", err
		}
		all = append(all, content...)
	}
	return archive.HexSum(all), nil
}

// make writes the image and the unpacked server, unless both are there already.
func (v variant) make(out, root string) error {
	wanted, err := fingerprint()
	if err != nil {
		return err
	}
	stamp := filepath.Join(root, ".made")
	if made, err := os.ReadFile(stamp); err == nil && string(made) == wanted {
		if _, err := os.Stat(out); err == nil {
			return nil
		}
	}
	fmt.Printf("[images] %s: from Debian %s ...\n", v.name, v.suite)
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(root), ".making-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()

	unpacked := filepath.Join(work, "root")
	if err := v.unpack(filepath.Join(work, "apt"), unpacked); err != nil {
		return err
	}
	files, err := filesIn(unpacked, v.ownedByServer)
	if err != nil {
		return err
	}
	if err := write(v.image(files), out); err != nil {
		return err
	}
	if err := v.writeHostWrappers(unpacked); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := os.Rename(unpacked, root); err != nil {
		return err
	}
	return os.WriteFile(stamp, []byte(wanted), 0o644)
}

func (v variant) ownedByServer(name string) bool { return name == "data" }

// image keeps the contract of the official images: entrypoint, command, user, port and the folder of the data.
func (v variant) image(files []archive.File) archive.Image {
	return archive.Image{
		Reference: v.reference,
		Config: v1.Config{
			Env:          []string{archive.PathVariable},
			Entrypoint:   []string{"docker-entrypoint.sh"},
			Cmd:          []string{v.family + "-server"},
			ExposedPorts: map[string]struct{}{"6379/tcp": {}},
			Volumes:      map[string]struct{}{"/data": {}},
			WorkingDir:   "/data",
		},
		Files: files,
	}
}
