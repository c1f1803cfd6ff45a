// Command images makes the container images that tests run in a local cluster, without a container engine: the
// operator's from its binary, and Redis and Valkey servers from Debian's packages, which come from the mirror that the
// machine itself uses. Each becomes a docker archive, and the same input gives the same bytes.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{
		Use:           "images",
		Short:         "Make container images for a local cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(operatorCommand(), pauseCommand(), redisCommand())
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

func operatorCommand() *cobra.Command {
	var binary, out string
	command := &cobra.Command{
		Use:   "operator",
		Short: "the image redis-operator:dev, of a static binary",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return writeProgramImage("docker.io/library/redis-operator:dev", "/manager", binary, out)
		},
	}
	command.Flags().StringVar(&binary, "binary", "bin/manager", "the operator, built with CGO_ENABLED=0")
	command.Flags().StringVar(&out, "out", "dist/redis-operator.tar", "the archive to write")
	return command
}

func pauseCommand() *cobra.Command {
	var binary, out string
	command := &cobra.Command{
		Use:   "pause",
		Short: "the image of the container that every pod has for its namespaces",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return writeProgramImage("registry.k8s.io/pause:3.10", "/pause", binary, out)
		},
	}
	command.Flags().StringVar(&binary, "binary", "bin/pause", "hack/pause, built with CGO_ENABLED=0")
	command.Flags().StringVar(&out, "out", "dist/images/pause.tar", "the archive to write")
	return command
}

func redisCommand() *cobra.Command {
	var outDir, rootsDir string
	command := &cobra.Command{
		Use:   "redis [variant]...",
		Short: "images of servers: " + strings.Join(variantNames(), ", ") + "; without a name, the first",
		RunE: func(_ *cobra.Command, names []string) error {
			if len(names) == 0 {
				names = variantNames()[:1]
			}
			for _, name := range names {
				variant, err := variantNamed(name)
				if err != nil {
					return err
				}
				if err := variant.make(filepath.Join(outDir, name+".tar"), filepath.Join(rootsDir, name)); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		},
	}
	command.Flags().StringVar(&outDir, "out-dir", "dist/images", "the folder of the archives")
	command.Flags().StringVar(&rootsDir, "roots-dir", "dist/rootfs", "the folder of the unpacked servers")
	return command
}

// writeProgramImage makes an image of a single static program.
func writeProgramImage(reference, path, binary, out string) error {
	program, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	files := []file{
		{name: "etc", mode: 0o755, kind: folder},
		{name: "etc/group", mode: 0o644, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", mode: 0o644, content: []byte("root:x:0:0::/:/\nnonroot:x:65532:65532::/:/\n")},
		{name: strings.TrimPrefix(path, "/"), mode: 0o755, content: program},
		{name: "tmp", mode: 0o1777, kind: folder},
	}
	return image{
		Reference: reference,
		Config:    config{User: "65532:65532", Entrypoint: []string{path}, WorkingDir: "/", Env: []string{pathVariable}},
		Files:     files,
	}.writeTo(out)
}
