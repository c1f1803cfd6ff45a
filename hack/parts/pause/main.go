// Command pause holds a pod's namespaces open: it waits for the pod's end and reaps what the pod's containers orphan.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGINT, syscall.SIGTERM)
	for {
		if <-signals != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap takes all that have ended: several children's ends may come as one signal.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 && err != syscall.EINTR {
			return
		}
	}
}
