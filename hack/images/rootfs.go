package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/redis-operator/hack/archive"
)

// unpack makes a root with the server, its libraries and a shell.
func (v variant) unpack(aptDir, root string) error {
	if err := makeMergedUsr(root); err != nil {
		return err
	}
	apt, err := newApt(aptDir, v.suite)
	if err != nil {
		return err
	}
	debs, err := apt.downloadWithLibraries([]string{v.family + "-server", v.family + "-tools", "busybox-static"})
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if err := extract(deb, root); err != nil {
			return err
		}
	}
	for _, step := range []func(root string) error{removeSuperfluous, v.linkCommands, v.addAccounts, checkLibraries} {
		if err := step(root); err != nil {
			return err
		}
	}
	return nil
}

// extract is `dpkg-deb --extract`, except that a package's folder /lib does not replace the root's link of that name.
func extract(deb, root string) error {
	const pipe = `dpkg-deb --fsys-tarfile "$1" | tar --extract --keep-directory-symlink --directory "$2"`
	if output, err := exec.Command("sh", "-ec", pipe, "sh", deb, root).CombinedOutput(); err != nil {
		return fmt.Errorf("extract %s: %w: %s", filepath.Base(deb), err, output)
	}
	return nil
}

// makeMergedUsr prepares what the package base-files would: newer packages have everything below /usr, older ones not.
func makeMergedUsr(root string) error {
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if err := os.MkdirAll(filepath.Join(root, "usr", name), 0o755); err != nil {
			return err
		}
		if err := os.Symlink("usr/"+name, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

// removeSuperfluous keeps the packages' licences.
func removeSuperfluous(root string) error {
	for _, pattern := range []string{
		"etc/*", "var/*", "usr/share/man", "usr/share/locale", "usr/share/lintian", "usr/share/bug", "usr/share/doc/*/[!c]*",
		"usr/share/doc/*/changelog*", "usr/lib/systemd", "usr/lib/*/gconv", "usr/lib/sysusers.d", "usr/lib/tmpfiles.d",
	} {
		matches, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, match := range matches {
			if err := os.RemoveAll(match); err != nil {
				return err
			}
		}
	}
	return nil
}

// linkCommands adds the shell's commands, and the names under which the official Valkey image knows its programs too.
func (v variant) linkCommands(root string) error {
	bin := filepath.Join(root, "usr", "bin")
	busybox := filepath.Join(bin, "busybox")
	list, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return fmt.Errorf("busybox --list: %w", err)
	}
	links := map[string]string{}
	for _, command := range strings.Fields(string(list)) {
		links[command] = "busybox"
	}
	links[v.family+"-sentinel"] = v.family + "-server" // the same program, which looks at its name
	if v.family == "valkey" {
		for _, name := range []string{"server", "cli", "sentinel", "benchmark", "check-aof", "check-rdb"} {
			links["redis-"+name] = "valkey-" + name
		}
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

func (v variant) addAccounts(root string) error {
	entrypoint, err := sources.ReadFile("docker-entrypoint.sh")
	if err != nil {
		return err
	}
	text := strings.NewReplacer("@server@", v.family+"-server", "@user@", v.family).Replace(string(entrypoint))
	for _, folder := range []string{"data", "etc", "proc", "run", "sys", "dev", "tmp", "var/tmp", "usr/local/bin"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return err
		}
	}
	for _, folder := range []string{"tmp", "var/tmp"} {
		if err := os.Chmod(filepath.Join(root, folder), 0o777|fs.ModeSticky); err != nil {
			return err
		}
	}
	accounts := fmt.Sprintf("root:x:0:0:root:/root:/bin/sh\n%s:x:%d:%d::/data:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
		v.family, serverUser, serverUser)
	groups := fmt.Sprintf("root:x:0:\n%s:x:%d:\nnogroup:x:65534:\n", v.family, serverUser)
	return errors.Join(
		os.WriteFile(filepath.Join(root, "etc", "passwd"), []byte(accounts), 0o644),
		os.WriteFile(filepath.Join(root, "etc", "group"), []byte(groups), 0o644),
		os.WriteFile(filepath.Join(root, "usr", "local", "bin", "docker-entrypoint.sh"), []byte(text), 0o755),
	)
}

// filesIn lists a folder's content, in order, for an image.
func filesIn(root string, ownedByServer func(name string) bool) ([]archive.File, error) {
	var files []archive.File
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, root+"/")
		f := archive.File{Name: name, Mode: int64(info.Mode().Perm()), Kind: archive.Regular}
		if info.Mode()&fs.ModeSticky != 0 {
			f.Mode |= 0o1000
		}
		if ownedByServer(name) {
			f.Owner = serverUser
		}
		switch {
		case info.IsDir():
			f.Kind = archive.Folder
		case info.Mode()&fs.ModeSymlink != 0:
			f.Kind = archive.Symlink
			f.Target, err = os.Readlink(path)
		case info.Mode().IsRegular():
			f.Content, err = os.ReadFile(path)
		default:
			return fmt.Errorf("%s is no file, folder or link", name)
		}
		files = append(files, f)
		return err
	})
	return files, err
}
