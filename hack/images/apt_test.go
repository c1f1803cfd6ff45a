package main

import (
	"slices"
	"strings"
	"testing"
)

const newStyle = `# a comment: with a colon
Types: deb
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main contrib

Types: deb-src
URIs: http://sources.example/debian
Suites: bookworm
Components: main
`

const oldStyle = `# deb http://disabled.example/debian bookworm main
deb [signed-by=/a/key.gpg arch=amd64] https://vendor.example/apt vendor-bookworm main
deb [ arch=amd64 ] http://mirror.example/debian bookworm contrib main
deb-src http://mirror.example/debian bookworm main
deb http://mirror.example/debian-security bookworm-security main
`

func TestMirrorsAreReadInBothStyles(t *testing.T) {
	for name, entries := range map[string][]source{"deb822": parseDeb822(newStyle), "one line": parseOneLine(oldStyle)} {
		for suite, want := range map[string]string{
			"trixie": "deb [signed-by=" + debianKeys + "] http://mirror.example/debian trixie main\n" +
				"deb [signed-by=" + debianKeys + "] http://mirror.example/debian-security trixie-security main\n",
			"sid": "deb [signed-by=" + debianKeys + "] http://mirror.example/debian sid main\n",
		} {
			got, err := sourcesFor(suite, entries)
			if err != nil || got != want {
				t.Errorf("%s, %s: %v, got\n%swant\n%s", name, suite, err, got, want)
			}
		}
	}
}

func TestAMachineWithoutDebianIsRefused(t *testing.T) {
	entries := parseOneLine("deb http://vendor.example/apt vendor-bookworm main\n")
	if got, err := sourcesFor("trixie", entries); err == nil {
		t.Errorf("got %s", got)
	}
}

func TestDependenciesAreNames(t *testing.T) {
	got := parseDependencies("libc6 (>= 2.34), libhiredis0.14:any (>= 0.14.0),\n adduser | base-files, lua-cjson\n")
	if want := []string{"libc6", "libhiredis0.14", "adduser", "lua-cjson"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := parseDependencies(" \n"); len(got) > 0 {
		t.Errorf("got %v of nothing", got)
	}
}

func TestImagesKeepTheContractOfTheOfficialOnes(t *testing.T) {
	for _, v := range variants {
		image := v.image(nil)
		if image.Config.Entrypoint[0] != "docker-entrypoint.sh" || image.Config.WorkingDir != "/data" || image.Config.User != "" {
			t.Errorf("%s: %+v", v.name, image.Config)
		}
		if image.Config.Cmd[0] != v.family+"-server" || !strings.HasPrefix(image.Reference, "docker.io/") {
			t.Errorf("%s: %+v", v.name, image)
		}
	}
}
