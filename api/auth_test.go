package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"doze/api"
	"doze/api/wire"
	"doze/idle"
)

// noID is a group that is not managed.
var noID = wire.ID{Namespace: "default", Job: "none", Group: "none"}

// denyAll knows nobody.
type denyAll struct{}

func (denyAll) Authorize(context.Context, *http.Request, api.Verb, idle.GroupID) error {
	return fmt.Errorf("%w: no", api.ErrUnauthenticated)
}

// namespaceAuth lets the token "reader" read the namespace prod, and "admin" do everything.
type namespaceAuth struct{ down atomic.Bool }

func (a *namespaceAuth) Authorize(_ context.Context, r *http.Request, do api.Verb,
	id idle.GroupID) error {
	switch token := r.Header.Get("X-Nomad-Token"); {
	case a.down.Load():
		return errors.New("secret: nomad does not answer")
	case token == "admin", token == "reader" && do == api.Read && id.Namespace != "default":
		return nil
	case token == "reader":
		return fmt.Errorf("%w: the token may not %s %s", api.ErrForbidden, do, id)
	}
	return fmt.Errorf("%w: send a Nomad token", api.ErrUnauthenticated)
}

func TestAuth_tokenThatReadsOneNamespace_seesOnlyThat(t *testing.T) {
	auth := &namespaceAuth{}
	inControlWorld(t, func(cfg *api.ControlConfig) {
		cfg.Auth = auth
		cfg.Diagnostics = func() []wire.Diagnostic {
			return []wire.Diagnostic{{Namespace: "default", Job: "x", Problem: "p"},
				{Namespace: "prod", Job: "y", Problem: "p"}}
		}
	}, func(t *testing.T, w *controlWorld) {
		prod := wire.ID{Namespace: "prod", Job: "web", Group: "app"}
		w.add(webID, quickPolicy)
		w.add(prod, quickPolicy)
		reader := []string{"X-Nomad-Token", "reader"}

		list := into[wire.GroupList](t, w.do("GET", "/v1/groups", "", reader...), 200)
		if len(list.Groups) != 1 || list.Groups[0].ID != prod {
			t.Errorf("listed %v", list.Groups)
		}
		wrong := into[wire.DiagnosticList](t, w.do("GET", "/v1/diagnostics", "", reader...), 200)
		if len(wrong.Diagnostics) != 1 || wrong.Diagnostics[0].Job != "y" {
			t.Errorf("diagnosed %v", wrong.Diagnostics)
		}
		into[wire.GroupDetail](t, w.do("GET", prod.Path(), "", reader...), 200)
		for _, refused := range []controlAnswer{
			w.do("GET", webID.Path(), "", reader...),
			w.do("POST", prod.WakePath(), "", reader...),
			w.do("POST", prod.SleepPath(), "", reader...),
			w.do("PUT", prod.LeasePath("x"), "", reader...),
			w.do("DELETE", prod.LeasePath("x"), "", reader...),
			w.do("GET", noID.Path(), "", reader...),
		} {
			if p := into[wire.Problem](t, refused, 403); p.Type != wire.ProblemForbidden {
				t.Errorf("refused with %+v", p)
			}
		}
		into[wire.Outcome](t, w.do("POST", prod.WakePath(), "", "X-Nomad-Token", "admin"), 202)
	})
}

func TestAuth_noToken_isAskedForBeforeAnythingElseIsSaid(t *testing.T) {
	inControlWorld(t, authBy(&namespaceAuth{}), func(t *testing.T, w *controlWorld) {
		w.add(webID, quickPolicy)
		for _, path := range []string{
			"/v1/groups", "/v1/groups?nonsense=1", "/v1/events", "/v1/diagnostics", webID.Path(),
			noID.Path(),
		} {
			a := w.do("GET", path, "")
			p := into[wire.Problem](t, a, 401)
			if p.Type != wire.ProblemUnauthenticated || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %+v %v", path, p, a.header)
			}
		}
	})
}

func TestAuth_nobodyCanTell_is503AndTheReasonOnlyInTheLog(t *testing.T) {
	auth := &namespaceAuth{}
	auth.down.Store(true)
	inControlWorld(t, authBy(auth), func(t *testing.T, w *controlWorld) {
		a := w.do("GET", "/v1/groups", "", "X-Nomad-Token", "admin")
		p := into[wire.Problem](t, a, 503)
		if p.Type != wire.ProblemAuthUnavailable || strings.Contains(a.text, "secret") ||
			a.header.Get("Retry-After") == "" {
			t.Errorf("answered %s", a.text)
		}
		if !strings.Contains(w.log.String(), "secret: nomad does not answer") {
			t.Errorf("logged %q", w.log)
		}
	})
}

// unguarded can tell nobody from anybody.
type unguarded struct{}

func (unguarded) Authorize(context.Context, *http.Request, api.Verb, idle.GroupID) error {
	return fmt.Errorf("%w: use a token file", api.ErrNoGuard)
}

func TestAuth_noGuard_is503AndSaysThatNoTokenHelps(t *testing.T) {
	inControlWorld(t, authBy(unguarded{}), func(t *testing.T, w *controlWorld) {
		a := w.do("GET", "/v1/groups", "", "X-Nomad-Token", "admin")
		p := into[wire.Problem](t, a, 503)
		if p.Type != wire.ProblemAuthUnavailable || !strings.Contains(p.Detail, "use a token file") ||
			strings.Contains(a.text, "try again") {
			t.Errorf("answered %s", a.text)
		}
		if !strings.Contains(w.log.String(), "use a token file") {
			t.Errorf("logged %q", w.log)
		}
	})
}

func TestOpen_callerFromAnotherMachine_isRefused(t *testing.T) {
	for addr, want := range map[string]error{
		"127.0.0.1:1": nil, "[::1]:1": nil, "pipe": nil, "@": nil,
		"192.0.2.7:1": api.ErrForbidden, "[2001:db8::1]:1": api.ErrForbidden,
	} {
		r := &http.Request{RemoteAddr: addr}
		err := api.Open{}.Authorize(t.Context(), r, api.Write, idle.GroupID{})
		if !errors.Is(err, want) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

const goodToken = "0123456789abcdef"

func writeToken(t *testing.T, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	rewriteToken(t, path, text, mode)
	return path
}

func rewriteToken(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask is
		t.Fatal(err)
	}
}

func TestNewBearer_badFile_saysWhatToDo(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"empty":          {"", 0o600, "there is no token in it; write one"},
		"comments only":  {"# x\n\n", 0o600, "there is no token in it"},
		"short":          {"ok\n", 0o600, "line 1: the token has 2 bytes and can be guessed"},
		"second short":   {goodToken + "\nshort", 0o600, "line 2"},
		"space":          {goodToken + " " + goodToken, 0o600, "has a space in it"},
		"world-readable": {goodToken, 0o644, "can read or write it (mode 0644); do: chmod 600"},
		"huge":           {strings.Repeat("x", 1<<17), 0o600, "larger than 65536 bytes"},
	} {
		_, err := api.NewBearer(writeToken(t, c.text, c.mode))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "token file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := api.NewBearer(filepath.Join(t.TempDir(), "none"))
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	_, err = api.NewBearer(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("directory: %v", err)
	}
}

func TestBearer_header_admitsOnlyTheToken(t *testing.T) {
	b, err := api.NewBearer(writeToken(t, "# old\n"+goodToken+"\n\nanother-good-token\n", 0o640))
	if err != nil {
		t.Fatal(err)
	}
	good := []string{"Bearer " + goodToken, "bearer  " + goodToken, "Bearer another-good-token"}
	bad := []string{"", "Bearer", "Bearer ", "Basic " + goodToken, goodToken, "Bearer # old",
		"Bearer " + goodToken + "x", "Bearer " + goodToken[1:]}
	for _, header := range slices.Concat(good, bad) {
		admitted := slices.Contains(good, header)
		r := &http.Request{Header: http.Header{"Authorization": {header}}}
		err := b.Authorize(t.Context(), r, api.Write, idle.GroupID{})
		if admitted != (err == nil) || !admitted && !errors.Is(err, api.ErrUnauthenticated) {
			t.Errorf("%q: %v", header, err)
		}
	}
}

func TestBearer_fileChanges_holdAtOnce(t *testing.T) {
	path := writeToken(t, goodToken, 0o600)
	b, err := api.NewBearer(path)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(token string) error {
		r := &http.Request{Header: http.Header{"Authorization": {"Bearer " + token}}}
		return b.Authorize(t.Context(), r, api.Write, idle.GroupID{})
	}
	rewriteToken(t, path, "fedcba9876543210", 0o600)
	if err := ask(goodToken); !errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("the old token: %v", err)
	}
	if err := ask("fedcba9876543210"); err != nil {
		t.Errorf("the new token: %v", err)
	}
	rewriteToken(t, path, "fedcba9876543210", 0o644)
	if err := ask("fedcba9876543210"); err == nil || errors.Is(err, api.ErrUnauthenticated) {
		t.Errorf("a file that has become readable for all: %v", err)
	}
}

func TestValidateListen_address_needsAuthenticationUnlessLoopback(t *testing.T) {
	b, err := api.NewBearer(writeToken(t, goodToken, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	loopback := []string{"127.0.0.1:4660", "127.9.9.9:0", "[::1]:4660", "localhost:4660",
		"LocalHost:4660", "doze.localhost:4660", "unix:/run/doze.sock", "/run/doze.sock"}
	others := []string{":4660", "0.0.0.0:4660", "[::]:4660", "192.0.2.1:4660",
		"doze.example.com:4660", "localhost.example.com:4660", "[::ffff:192.0.2.1]:4660"}
	for _, addr := range slices.Concat(loopback, others) {
		if err := api.ValidateListen(addr, b); err != nil {
			t.Errorf("%s with a token: %v", addr, err)
		}
		for _, auth := range []api.Authorizer{nil, api.Open{}, &api.Open{}} {
			err := api.ValidateListen(addr, auth)
			if slices.Contains(loopback, addr) != (err == nil) {
				t.Errorf("%s without: %v", addr, err)
			}
			if err != nil && !strings.Contains(err.Error(), "give a bearer token file") {
				t.Errorf("%s: %v says not what to do", addr, err)
			}
		}
	}
	for _, addr := range []string{"", "127.0.0.1", "localhost:http:1", "127.0.0.1:99999",
		"127.0.0.1:nonsense"} {
		err := api.ValidateListen(addr, b)
		if err == nil || !strings.Contains(err.Error(), "cannot listen on") {
			t.Errorf("%q: %v", addr, err)
		}
	}
}
