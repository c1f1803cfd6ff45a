package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt is a configuration of APT for one of Debian's suites, apart from the machine's own: nothing is installed, and the
// machine's lists, caches and package database are neither read nor changed.
type apt struct {
	dir string
}

// newApt takes the mirrors from the machine's configuration, so that whatever reaches Debian here is used.
func newApt(dir, suite string) (*apt, error) {
	dir, err := filepath.Abs(dir) // APT takes a relative path as one below /etc/apt
	if err != nil {
		return nil, err
	}
	entries, err := machineSources()
	if err != nil {
		return nil, err
	}
	sources, err := sourcesFor(suite, entries)
	if err != nil {
		return nil, err
	}
	for _, sub := range []string{"lists/partial", "archives/partial", "debs", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	a := &apt{dir: dir}
	for name, content := range map[string]string{"sources.list": sources, "status": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	return a, a.run("update")
}

// run gives the settings on the command line, since there they override the machine's files.
func (a *apt) run(args ...string) error {
	settings := []string{
		"Dir::State=" + a.dir, "Dir::State::Lists=" + filepath.Join(a.dir, "lists"),
		"Dir::State::status=" + filepath.Join(a.dir, "status"),
		"Dir::Cache=" + a.dir, "Dir::Cache::archives=" + filepath.Join(a.dir, "archives"),
		"Dir::Etc::sourcelist=" + filepath.Join(a.dir, "sources.list"), "Dir::Etc::sourceparts=" + filepath.Join(a.dir, "empty"),
		"Dir::Etc::preferences=/dev/null", "Dir::Etc::preferencesparts=" + filepath.Join(a.dir, "empty"),
		"APT::Sandbox::User=root", // the folder is root's
		"Acquire::Languages=none",
	}
	var options []string
	for _, setting := range settings {
		options = append(options, "-o", setting)
	}
	command := exec.Command("apt-get", append(append(options, "-q"), args...)...)
	command.Dir = filepath.Join(a.dir, "debs")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}

// downloadWithLibraries fetches packages and, wave by wave, the libraries that they depend on. It leaves out all other
// dependencies: a container needs no users, services or Perl set up.
func (a *apt) downloadWithLibraries(names []string) ([]string, error) {
	var known []string
	for wave := names; len(wave) > 0; {
		if err := a.run(append([]string{"download"}, wave...)...); err != nil {
			return nil, err
		}
		known = append(known, wave...)
		dependencies, err := a.dependencies()
		if err != nil {
			return nil, err
		}
		wave = slices.DeleteFunc(dependencies, func(name string) bool {
			return slices.Contains(known, name) || !isLibrary(name)
		})
	}
	return filepath.Glob(filepath.Join(a.dir, "debs", "*.deb"))
}

func isLibrary(name string) bool {
	return strings.HasPrefix(name, "lib") || strings.HasPrefix(name, "lua-") || strings.HasPrefix(name, "zlib")
}

// dependencies of all packages downloaded so far.
func (a *apt) dependencies() ([]string, error) {
	debs, err := filepath.Glob(filepath.Join(a.dir, "debs", "*.deb"))
	if err != nil {
		return nil, err
	}
	var all []string
	for _, deb := range debs {
		for _, field := range []string{"Depends", "Pre-Depends"} {
			value, err := exec.Command("dpkg-deb", "--field", deb, field).Output()
			if err != nil {
				return nil, fmt.Errorf("dpkg-deb --field %s: %w", deb, err)
			}
			all = append(all, parseDependencies(string(value))...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// parseDependencies returns the names, of alternatives the first: "libc6 (>= 2.34), a | b" gives libc6 and a.
func parseDependencies(value string) []string {
	var names []string
	for dependency := range strings.SplitSeq(value, ",") {
		name := strings.FieldsFunc(dependency, func(r rune) bool { return strings.ContainsRune(" \n(:|", r) })
		if len(name) > 0 {
			names = append(names, name[0])
		}
	}
	return names
}

// source is a repository that the machine's APT uses.
type source struct {
	uri    string
	suites []string
}

func machineSources() ([]source, error) {
	var entries []source
	files, _ := filepath.Glob("/etc/apt/sources.list.d/*")
	for _, name := range append(files, "/etc/apt/sources.list") {
		content, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		switch filepath.Ext(name) {
		case ".sources":
			entries = append(entries, parseDeb822(string(content))...)
		case ".list":
			entries = append(entries, parseOneLine(string(content))...)
		}
	}
	if len(entries) == 0 {
		return nil, errors.New("this machine's APT has no sources: the images are made on Debian")
	}
	return entries, nil
}

// parseOneLine reads lines like: deb [signed-by=x] http://mirror/debian bookworm main
func parseOneLine(content string) []source {
	var entries []source
	for line := range strings.Lines(content) {
		if begin, end := strings.Index(line, "["), strings.Index(line, "]"); begin >= 0 && end > begin {
			line = line[:begin] + line[end+1:]
		}
		fields := strings.Fields(line)
		if len(fields) >= 4 && fields[0] == "deb" && slices.Contains(fields[3:], "main") {
			entries = append(entries, source{uri: fields[1], suites: fields[2:3]})
		}
	}
	return entries
}

// parseDeb822 reads paragraphs of fields (man 5 sources.list).
func parseDeb822(content string) []source {
	var entries []source
	for paragraph := range strings.SplitSeq(content, "\n\n") {
		fields := map[string][]string{}
		for line := range strings.Lines(paragraph) {
			name, value, found := strings.Cut(line, ":")
			if found && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, " ") {
				fields[strings.ToLower(name)] = strings.Fields(value)
			}
		}
		if slices.Contains(fields["types"], "deb") && slices.Contains(fields["components"], "main") && len(fields["uris"]) > 0 {
			entries = append(entries, source{uri: fields["uris"][0], suites: fields["suites"]})
		}
	}
	return entries
}

var releases = []string{"bullseye", "bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable"}

// sourcesFor writes a sources.list: Debian's mirrors carry all suites, so the one of the machine's suite is asked for another.
func sourcesFor(suite string, entries []source) (string, error) {
	var lines []string
	line := func(uri, suite string) {
		lines = append(lines, fmt.Sprintf("deb [signed-by=%s] %s %s main\n", debianKeys, uri, suite))
	}
	for _, release := range releases {
		for _, entry := range entries {
			if slices.Contains(entry.suites, release) && len(lines) == 0 {
				line(entry.uri, suite)
			}
		}
	}
	if len(lines) == 0 {
		return "", errors.New("this machine's APT has no source of Debian itself: the images are made on Debian")
	}
	// The unstable suite gets its security updates directly.
	for _, entry := range entries {
		isSecurity := slices.ContainsFunc(entry.suites, func(s string) bool { return strings.HasSuffix(s, "-security") })
		if isSecurity && suite != "sid" && len(lines) == 1 {
			line(entry.uri, suite+"-security")
		}
	}
	return strings.Join(lines, ""), nil
}
