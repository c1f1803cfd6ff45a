package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// checkLibraries finds out before any container does when a program of the root lacks a library.
func checkLibraries(root string) error {
	programs, err := filepath.Glob(filepath.Join(root, "usr", "bin", "*"))
	if err != nil {
		return err
	}
	checked := map[string]bool{}
	for len(programs) > 0 {
		program := programs[0]
		programs = programs[1:]
		if checked[program] {
			continue
		}
		checked[program] = true
		needed, err := neededBy(program)
		if err != nil {
			return fmt.Errorf("%s: %w", program, err)
		}
		for _, library := range needed {
			found := findLibrary(root, library)
			if found == "" {
				return fmt.Errorf("%s needs %s, which none of the packages has", strings.TrimPrefix(program, root), library)
			}
			programs = append(programs, found)
		}
	}
	return nil
}

// neededBy is empty for what is no ELF file, as a script.
func neededBy(program string) ([]string, error) {
	file, err := elf.Open(program)
	var notELF *elf.FormatError
	if errors.As(err, &notELF) || errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return file.ImportedLibraries()
}

func findLibrary(root, name string) string {
	for _, dir := range libraryDirs(root) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// libraryDirs are those of the machine's architecture, such as usr/lib/x86_64-linux-gnu.
func libraryDirs(root string) []string {
	dirs, _ := filepath.Glob(filepath.Join(root, "usr", "lib", "*-linux-*"))
	return append(dirs, filepath.Join(root, "usr", "lib"), filepath.Join(root, "usr", "lib64"))
}

// writeHostWrappers lets tests run the server on the host, without a container: through the root's own loader, with the
// root's own libraries, whatever the host has.
func (v variant) writeHostWrappers(root string) error {
	server, err := elf.Open(filepath.Join(root, "usr", "bin", v.family+"-server"))
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }()
	loader, err := loaderOf(server)
	if err != nil {
		return err
	}
	var libraries []string
	for _, dir := range libraryDirs(root) {
		libraries = append(libraries, "$root"+strings.TrimPrefix(dir, root))
	}
	for _, program := range []string{"server", "cli"} {
		script := fmt.Sprintf("#!/bin/sh\nroot=$(dirname \"$(readlink -f \"$0\")\")\n"+
			"exec \"$root%s\" --argv0 %s-%s --library-path \"%s\" \"$root/usr/bin/%s-%s\" \"$@\"\n",
			loader, v.family, program, strings.Join(libraries, ":"), v.family, program)
		if err := os.WriteFile(filepath.Join(root, "run-redis-"+program), []byte(script), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// loaderOf returns the path of the dynamic loader that a program asks for.
func loaderOf(program *elf.File) (string, error) {
	section := program.Section(".interp")
	if section == nil {
		return "", errors.New("not a dynamic program")
	}
	content, err := section.Data()
	return strings.TrimRight(string(content), "\x00"), err
}
