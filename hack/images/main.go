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

	"example.com/redis-operator/hack/archive"
)

func main() {
	root := &cobra.Command{
		Use:           "images",
		Short:         "Make container images for a local cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(operatorCommand(), redisCommand())
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
			program, err := os.ReadFile(binary)
			if err != nil {
				return err
			}
			return write(archive.Program("docker.io/library/redis-operator:dev", "manager", program), out)
		},
	}
	command.Flags().StringVar(&binary, "binary", "bin/manager", "the operator, built with CGO_ENABLED=0")
	command.Flags().StringVar(&out, "out", "dist/redis-operator.tar", "the archive to write")
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

// write says what it wrote, and nothing when the file was the same already.
func write(image archive.Image, out string) error {
	changed, err := image.WriteTo(out)
	if changed {
		fmt.Printf("[images] %s: %s\n", out, image.Reference)
	}
	return err
}
