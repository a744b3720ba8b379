package jobs_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/idle"
	"doze/internal/devnomad"
	"doze/jobs"
)

func TestAuthorizer_token_mayWhatNomadAllowsIt(t *testing.T) {
	inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
		w.namespace("mine")
		w.namespace("theirs")
		mine := w.register(service("shop", counted(1), in("mine")))
		theirs := w.register(service("shop", counted(1), in("theirs")))
		mayRead := w.token("mine", "read-job")
		mayScale := w.token("mine", "scale-job", "read-job-scaling")
		auth := jobs.NewAuthorizer(w.client(""))
		for _, test := range []struct {
			name        string
			token       string
			id          idle.GroupID
			read, scale error
		}{
			{"reader", mayRead, mine, nil, jobs.ErrForbidden},
			{"scaler", mayScale, mine, nil, nil},
			{"reader elsewhere", mayRead, theirs, jobs.ErrForbidden, jobs.ErrForbidden},
			{"scaler elsewhere", mayScale, theirs, jobs.ErrForbidden, jobs.ErrForbidden},
			{"manager", root, theirs, nil, nil},
			{"nobody", "", mine, jobs.ErrToken, jobs.ErrToken},
		} {
			if err := auth.Read(t.Context(), test.token, test.id); !errors.Is(err, test.read) {
				t.Errorf("%s reads: %v, want %v", test.name, err, test.read)
			}
			if err := auth.Scale(t.Context(), test.token, test.id); !errors.Is(err, test.scale) {
				t.Errorf("%s scales: %v, want %v", test.name, err, test.scale)
			}
		}
		for _, stranger := range []string{"99999999-2222-3333-4444-555555555555", "no token"} {
			if err := auth.Scale(t.Context(), stranger, mine); !errors.Is(err, jobs.ErrToken) {
				t.Errorf("an unknown token scales: %v", err)
			}
		}
		if n := w.status(mine).Desired; n != 1 || len(w.status(mine).Events) > 0 {
			t.Errorf("asking has changed the job: count %d", n)
		}
	})
}

func TestAuthorizer_askedOften_asksNomadNowAndThen(t *testing.T) {
	inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		token := w.token("default", "scale-job")
		auth := jobs.NewAuthorizer(w.client(""))
		for range 100 {
			if err := auth.Scale(t.Context(), token, id); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.total(); n > 2 {
			t.Errorf("%d calls", n)
		}
		w.revokeClients()
		w.pass(6 * time.Second)
		if err := auth.Scale(t.Context(), token, id); err == nil {
			t.Error("a revoked token still scales")
		}
	})
}

func TestAuthorizer_aclsOff_letsNobodyIn(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		auth := jobs.NewAuthorizer(w.client(""))
		for what, err := range map[string]error{
			"any token": auth.Read(t.Context(), "any", id),
			"no token":  auth.Read(t.Context(), "", id),
			"no caller": auth.Check(t.Context()),
		} {
			if !errors.Is(err, jobs.ErrACLsOff) {
				t.Errorf("%s: got %v", what, err)
			}
		}
	})
}

func TestAuthorizer_nomadAway_letsNobodyIn(t *testing.T) {
	for name, fault := range map[string]devnomad.Fault{
		"HTML": devnomad.HTML(), "error": {Status: 500, Body: "No cluster leader"},
		"HTML error": {Status: 400, Body: "<html>"}, "HTML missing": {Status: 404, Body: "<html>"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
				id := idle.GroupID{Namespace: nomad.DefaultNamespace, Job: "shop", Group: "web"}
				w.faults.Inject(fault)
				auth := jobs.NewAuthorizer(w.client(""))
				if auth.Read(t.Context(), root, id) == nil ||
					auth.Scale(t.Context(), root, id) == nil {
					t.Error("let in")
				}
			})
		})
	}
}

// The question of lists, event streams and heartbeats, which name no group.
func TestAuthorizer_known_isWhomNomadKnows(t *testing.T) {
	inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
		auth := jobs.NewAuthorizer(w.client(""))
		for token, want := range map[string]error{
			root:                                   nil,
			w.token("default", "read-job"):         nil,
			w.token("nowhere", "alloc-exec"):       nil,
			"":                                     jobs.ErrToken,
			"no token":                             jobs.ErrToken,
			"99999999-2222-3333-4444-555555555555": jobs.ErrToken,
		} {
			if err := auth.Known(t.Context(), token); !errors.Is(err, want) {
				t.Errorf("%q: %v, want %v", token, err, want)
			}
		}
	})
}

// A list asks about each of its groups.
func TestAuthorizer_manyGroups_askOnceForANamespace(t *testing.T) {
	inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
		w.namespace("theirs")
		token := w.token("default", "read-job")
		auth := jobs.NewAuthorizer(w.client(""))
		list := func() (may int) {
			for i := range 1000 {
				id := idle.GroupID{Namespace: "default", Job: strconv.Itoa(i), Group: "web"}
				if i%2 > 0 {
					id.Namespace = "theirs"
				}
				if auth.Read(t.Context(), token, id) == nil {
					may++
				}
			}
			return may
		}
		if may := list(); may != 500 {
			t.Errorf("%d of 1000 groups, want 500", may)
		}
		if n := w.total(); n > 4 { // are ACLs on, each namespace, is the refused token known
			t.Errorf("%d calls", n)
		}
		w.pass(20 * time.Second)
		list()
		if n := w.total(); n > 6 {
			t.Errorf("%d calls after 20 s", n)
		}
		w.revokeClients()
		w.pass(30 * time.Second)
		if may := list(); may != 0 {
			t.Errorf("a revoked token reads %d groups", may)
		}
	})
}

// revokeClients deletes every token but those of managers.
func (w *world) revokeClients() {
	w.t.Helper()
	tokens, _, err := w.admin.ACLTokens().List(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, stub := range tokens {
		if stub.Type != "client" {
			continue
		}
		if _, err := w.admin.ACLTokens().Delete(stub.AccessorID, nil); err != nil {
			w.t.Fatal(err)
		}
	}
}
