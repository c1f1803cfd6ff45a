//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// request is one that the API server was asked, as its audit log has it.
type request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	UserAgent  string `json:"userAgent"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestReceivedTimestamp string `json:"requestReceivedTimestamp"`
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %s (%d)", r.RequestReceivedTimestamp, r.Verb, r.RequestURI, r.ResponseStatus.Code)
}

// changes tells whether the request is one to change something.
func (r request) changes() bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	}
	return true
}

// audit reads the API server's audit log from some moment on.
type audit struct {
	t    *testing.T
	path string
	from int64
}

// auditFromNow needs the audit log as a file on this machine.
func auditFromNow(t *testing.T) *audit {
	t.Helper()
	path := os.Getenv("AUDIT_LOG")
	needs(t, path != "", "the API server's audit log in the file that AUDIT_LOG names (the local cluster has one)")
	info, err := os.Stat(path)
	require.NoError(t, err)
	return &audit{t: t, path: path, from: info.Size()}
}

// ofOperator are the operator's requests, but for its leader's lease and its watches.
func (a *audit) ofOperator() []request {
	a.t.Helper()
	file, err := os.Open(a.path)
	require.NoError(a.t, err)
	defer file.Close()
	_, err = file.Seek(a.from, io.SeekStart)
	require.NoError(a.t, err)
	var found []request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // the rest is a line half written
		}
		if !strings.Contains(string(line), operatorUser) {
			continue
		}
		var r request
		require.NoError(a.t, json.Unmarshal(line, &r))
		if r.User.Username == operatorUser && r.Verb != "watch" && r.ObjectRef.Resource != "leases" {
			found = append(found, r)
		}
	}
	return found
}

// in are the requests about a namespace.
func in(namespace string, requests []request) []request {
	var found []request
	for _, r := range requests {
		if r.ObjectRef.Namespace == namespace {
			found = append(found, r)
		}
	}
	return found
}
