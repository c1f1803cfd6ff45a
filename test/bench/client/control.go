package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/redis-operator/test/bench/measure"
)

// dir is where the program and the writers' sockets are, in the pod.
const dir = "/bench"

func socketOf(name string) string { return dir + "/" + name + ".sock" }

func logOf(name string) string { return dir + "/" + name + ".log" }

type moreRequest struct {
	Count       int
	Within      time.Duration
	Unconfirmed bool
}

// finishRequest names the moments and faults for the report, and the primary on which the keys must be. Without one nobody wants a report any more: the
// writer's process ends.
type finishRequest struct {
	Moments []time.Time
	Faults  []time.Time
	Primary string
	Absent  []string
}

// start starts a writer that goes on by itself, and returns once it can be asked.
func start(args []string) error {
	o, err := parseOptions("start", args)
	if err != nil {
		return err
	}
	output, err := os.Create(logOf(o.name))
	if err != nil {
		return err
	}
	defer output.Close()
	command := exec.Command("/proc/self/exe", append([]string{"write"}, args...)...)
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("unix", socketOf(o.name)); err == nil {
			return conn.Close()
		}
	}
	said, _ := os.ReadFile(output.Name())
	return fmt.Errorf("the writer does not answer: %s", said)
}

// serve answers questions about a writer. Its report is made once, since that removes the keys, and can be asked for again: on a
// busy node a command's output may be lost on its way.
func serve(socket string, w *writer) error {
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := &http.Server{}
	ended := make(chan struct{})
	var mu sync.Mutex
	var once sync.Once
	var report *measure.Report
	mux := http.NewServeMux()
	mux.HandleFunc("/more", func(out http.ResponseWriter, in *http.Request) {
		var request moreRequest
		answer(out, in, &request, func() (any, error) { return nil, w.awaitMore(in.Context(), request) })
	})
	mux.HandleFunc("/finish", func(out http.ResponseWriter, in *http.Request) {
		var request finishRequest
		answer(out, in, &request, func() (result any, err error) {
			mu.Lock()
			defer mu.Unlock()
			if request.Primary != "" && report == nil {
				report, err = reportOf(w.end(), request)
			}
			return report, err
		})
		if request.Primary == "" {
			once.Do(func() { close(ended) })
		}
	})
	server.Handler = mux
	go func() {
		<-ended
		_ = server.Shutdown(context.Background())
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answer(out http.ResponseWriter, in *http.Request, request any, do func() (any, error)) {
	if err := json.NewDecoder(in.Body).Decode(request); err != nil {
		http.Error(out, err.Error(), http.StatusBadRequest)
		return
	}
	result, err := do()
	if err != nil {
		http.Error(out, err.Error(), http.StatusConflict)
		return
	}
	_ = json.NewEncoder(out).Encode(result)
}

// ask asks a writer's process.
func ask(name, path string, request, result any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "unix", socketOf(name))
	}}}
	response, err := client.Post("http://writer"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(response.Body)
		return errors.New(strings.TrimSpace(string(text)))
	}
	if result == nil {
		return nil
	}
	return json.NewDecoder(response.Body).Decode(result)
}

// reportOf looks up at the primary what of the acknowledged writes is there, and removes the keys for the next run.
func reportOf(clients []measure.Client, request finishRequest) (*measure.Report, error) {
	keys, err := openKeys(request.Primary)
	if err != nil {
		return nil, err
	}
	defer keys.Close()
	there := map[string]map[int]bool{}
	for _, client := range clients {
		if there[client.Name], err = keys.of(client); err != nil {
			return nil, err
		}
	}
	report := measure.Of(clients, request.Moments, request.Faults, func(client string, number int) bool { return there[client][number] })
	for _, key := range request.Absent {
		value, err := keys.do("GET", key)
		if err != nil {
			return nil, err
		}
		if value != nil {
			report.Found = append(report.Found, key)
		}
	}
	return &report, nil
}
