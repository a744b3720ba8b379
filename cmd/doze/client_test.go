package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/api/wire"
)

// hung is an API that takes requests and never answers.
type hung struct{}

func (hung) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestClient_apiThatNeverAnswers_isGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(context.Context, *apiClient) error
		limit time.Duration
	}{
		"status": {func(ctx context.Context, c *apiClient) error { _, err := c.groups(ctx); return err },
			callTimeout},
		"wake": {func(ctx context.Context, c *apiClient) error {
			return wakeOne(ctx, c, wire.ID{Namespace: "default", Job: "web", Group: "app"}, time.Minute)
		}, time.Minute + callTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := &apiClient{address: "http://127.0.0.1:4660", http: &http.Client{Transport: hung{}},
					term: terminal{io.Discard, io.Discard, func(string) (string, bool) { return "", false }}}
				begun := time.Now()
				err := c.do(t.Context(), client)
				if took := time.Since(begun); took != c.limit {
					t.Errorf("given up after %s, want %s", took, c.limit)
				}
				if !errors.Is(err, context.DeadlineExceeded) ||
					!strings.Contains(err.Error(), "127.0.0.1:4660 does not answer") {
					t.Errorf("error is %v", err)
				}
			})
		})
	}
}

// A refusal's way out is the command line's own, not the API's.
func TestSleep_groupInUse_namesTheFlag(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Fprint(w, `{"groups":[{"namespace":"default","job":"a","group":"g"}]}`)
			return
		}
		w.WriteHeader(http.StatusConflict)
		fmt.Fprintf(w, `{"type":%q,"title":"The group is in use","status":409,`+
			`"detail":"awake: 2 requests are being served","hints":["add ?force=true"]}`, wire.ProblemInUse)
	}))
	defer server.Close()
	var problems strings.Builder
	term := terminal{io.Discard, &problems, func(string) (string, bool) { return "", false }}
	status := run([]string{"sleep", "-address", server.URL, "a"}, term)
	if status != exitRuntime || !strings.Contains(problems.String(), "2 requests are being served (-force cuts") ||
		strings.Contains(problems.String(), "?force") {
		t.Errorf("status %d, %s", status, &problems)
	}
}

// field case 31: a group that has gone meanwhile, or cannot be woken, strands no other.
func TestWakeAll_oneGroupFails_othersAreWoken(t *testing.T) {
	var woken atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == wire.GroupsPath:
			fmt.Fprint(w, `{"groups":[{"namespace":"default","job":"a","group":"g"},`+
				`{"namespace":"default","job":"b","group":"g"},{"namespace":"default","job":"c","group":"g"}]}`)
		case strings.Contains(r.URL.Path, "/a/"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"type":"x","title":"gone","status":404}`)
		default:
			woken.Add(1)
			fmt.Fprint(w, `{}`)
		}
	}))
	defer server.Close()
	for _, args := range [][]string{{"-all"}, {"-all", "-wait=0"}} {
		woken.Store(0)
		var problems strings.Builder
		term := terminal{io.Discard, &problems, func(string) (string, bool) { return "", false }}
		status := run(append([]string{"wake", "-address", server.URL}, args...), term)
		if status != exitRuntime || !strings.Contains(problems.String(), "cannot wake default/a/g") {
			t.Errorf("%v: status %d, %s", args, status, &problems)
		}
		if woken.Load() < 2 {
			t.Errorf("%v: %d calls for the others", args, woken.Load())
		}
	}
}
