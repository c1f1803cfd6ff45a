package main

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"example.com/redis-operator/hack/archive"
)

// imageFile is a docker archive: images as one tar file.
type imageFile struct {
	file       string
	digest     string
	references []string
}

// writePauseImage makes the image of the container that every pod has for its namespaces.
func (c *Cluster) writePauseImage() error {
	program, err := os.ReadFile(c.Program("pause"))
	if err != nil {
		return err
	}
	_, err = archive.Program(pauseImage, "pause", program).WriteTo(c.pauseArchive())
	return err
}

func (c *Cluster) pauseArchive() string { return c.Dir("pause.tar") }

// imagesOfCheckout are those that every cluster gets, if they have been built.
func (c *Cluster) imagesOfCheckout() []string {
	files, _ := filepath.Glob(filepath.Join(c.Checkout, "dist", "images", "*.tar"))
	operator := filepath.Join(c.Checkout, "dist", "redis-operator.tar")
	if _, err := os.Stat(operator); err == nil {
		files = append(files, operator)
	}
	return files
}

// loadImages brings archives to nodes, where a node does not have them yet. It returns how many it had to bring.
func (c *Cluster) loadImages(files []string, nodes []Node) (int, error) {
	brought := 0
	for _, file := range files {
		image, err := readImageFile(file)
		if err != nil {
			return brought, err
		}
		var missing []Node
		for _, node := range nodes {
			if !node.has(image) {
				missing = append(missing, node)
			}
		}
		if len(missing) == 0 {
			continue
		}
		brought++
		err = onEach(missing, func(node Node) error { return node.load(image) })
		if err != nil {
			return brought, err
		}
	}
	return brought, nil
}

// record is per reference, not per file: the same reference may come from several files, one after the other.
func (n Node) imageRecord(reference string) string { return n.Dir("images", url.PathEscape(reference)) }

func (n Node) has(image imageFile) bool {
	for _, reference := range image.references {
		content, err := os.ReadFile(n.imageRecord(reference))
		if err != nil || string(content) != image.digest {
			return false
		}
	}
	return true
}

func (n Node) load(image imageFile) error {
	err := runQuietly("", n.cluster.Program("ctr"), "--address", n.ContainerdSocket(), "--namespace", "k8s.io", "images", "import", image.file)
	if err != nil {
		return fmt.Errorf("load %s into %s: %w", image.file, n.Name(), err)
	}
	for _, reference := range image.references {
		if err := os.WriteFile(n.imageRecord(reference), []byte(image.digest), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func readImageFile(file string) (imageFile, error) {
	absolute, err := filepath.Abs(file)
	if err != nil {
		return imageFile{}, err
	}
	content, err := os.Open(absolute)
	if err != nil {
		return imageFile{}, err
	}
	defer func() { _ = content.Close() }()

	digest := sha256.New()
	references, err := referencesIn(io.TeeReader(content, digest))
	if err != nil {
		return imageFile{}, fmt.Errorf("%s is not a docker archive: %w", file, err)
	}
	return imageFile{file: absolute, digest: hex.EncodeToString(digest.Sum(nil)), references: references}, nil
}

// referencesIn reads the whole of a docker archive.
func referencesIn(content io.Reader) ([]string, error) {
	var manifest []struct{ RepoTags []string }
	for files := tar.NewReader(content); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Name == "manifest.json" {
			if err := json.NewDecoder(files).Decode(&manifest); err != nil {
				return nil, err
			}
		}
	}
	if _, err := io.Copy(io.Discard, content); err != nil {
		return nil, err
	}
	var references []string
	for _, image := range manifest {
		references = append(references, image.RepoTags...)
	}
	if len(references) == 0 {
		return nil, errors.New("its manifest.json names no image")
	}
	return references, nil
}

// onEach does the same on several nodes at once.
func onEach(nodes []Node, do func(Node) error) error {
	problems := make([]error, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() { problems[i] = do(node) })
	}
	group.Wait()
	return errors.Join(problems...)
}
