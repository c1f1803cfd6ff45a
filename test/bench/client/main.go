// Command client runs in a pod on a node of a cluster that is measured: it writes numbered keys through a Service and keeps what
// it saw in memory, so that neither a slow API server nor a cut network comes between. It also sends signals to processes.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"time"

	"example.com/redis-operator/test/bench/measure"
)

func main() {
	if len(os.Args) < 2 {
		fail(errors.New("which verb: start, write, more, finish, signal or sum"))
	}
	verbs := map[string]func(args []string) error{
		"start": start, "write": write, "more": more, "finish": finish, "signal": signal, "sum": sum,
	}
	verb, known := verbs[os.Args[1]]
	if !known {
		fail(fmt.Errorf("no verb %q", os.Args[1]))
	}
	if err := verb(os.Args[2:]); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "client:", err)
	os.Exit(1)
}

// options are those of a writer.
type options struct {
	name           string
	to             string
	plain, waiting int
	pace           time.Duration
}

func parseOptions(verb string, args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.StringVar(&o.name, "name", "", "of the writer; its keys begin with it")
	flags.StringVar(&o.to, "to", "", "address and port of the Service")
	flags.IntVar(&o.plain, "plain", 2, "how many clients write")
	flags.IntVar(&o.waiting, "waiting", 2, "how many clients write and wait for a replica")
	flags.DurationVar(&o.pace, "pace", time.Millisecond, "from one write of a client to the next")
	err := flags.Parse(args)
	return o, err
}

// write is the writer itself. It ends when it is asked for its report.
func write(args []string) error {
	o, err := parseOptions("write", args)
	if err != nil {
		return err
	}
	return serve(socketOf(o.name), newWriter(o))
}

// more waits until each client of a writer has so many more acknowledgements.
func more(args []string) error {
	flags := flag.NewFlagSet("more", flag.ContinueOnError)
	name := flags.String("name", "", "of the writer")
	var request moreRequest
	flags.IntVar(&request.Count, "count", 100, "how many")
	flags.DurationVar(&request.Within, "within", 10*time.Second, "how long to wait")
	flags.BoolVar(&request.Unconfirmed, "unconfirmed", false, "do not wait for confirmations by replicas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return ask(*name, "/more", request, nil)
}

// finish ends a writer and prints its report.
func finish(args []string) error {
	flags := flag.NewFlagSet("finish", flag.ContinueOnError)
	name := flags.String("name", "", "of the writer")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var request finishRequest
	if err := json.NewDecoder(os.Stdin).Decode(&request); err != nil {
		return err
	}
	var report measure.Report
	if err := ask(*name, "/finish", request, &report); err != nil {
		said, _ := os.ReadFile(logOf(*name))
		return fmt.Errorf("%w; the writer says: %.2000s", err, said)
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// sum prints the sum of this program, so that an older one is found out.
func sum([]string) error {
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	digest := sha256.Sum256(program)
	fmt.Println(hex.EncodeToString(digest[:]))
	return nil
}
