package jobs_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	nomad "github.com/hashicorp/nomad/api"

	"doze/internal/devnomad"
	"doze/jobs"
)

const root = "11111111-2222-3333-4444-555555555555"

// in puts a job into a namespace.
func in(namespace string) func(*nomad.Job) {
	return func(j *nomad.Job) { j.Namespace = &namespace }
}

func TestWatcher_tokenOfSomeNamespaces_followsThose(t *testing.T) {
	for name, silent := range map[string]func(*http.Request) bool{
		"answers 403": nil,
		// What Nomad 2.0.5 does with a subscription that it refuses.
		"answers 200 and goes silent": func(r *http.Request) bool {
			return r.URL.Path == "/v1/event/stream" && r.URL.Query().Get("namespace") == "*"
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
				w.namespace("mine")
				w.namespace("theirs")
				w.register(service("shop", counted(0), in("mine")))
				w.register(service("shop", counted(0), in("theirs")))
				token := w.token("mine", "list-jobs", "read-job")
				client := w.client(token)
				w.silence(silent)
				w.watch(jobs.Config{Client: client})
				w.pass(5 * time.Second)
				w.expect("put mine/shop/web count 0: found at start")
				w.register(service("late", counted(0), in("mine")))
				w.pass(time.Second)
				w.expect("put mine/late/web count 0: the job was registered")
				if err := w.watcher.Current(); err != nil {
					t.Errorf("not current: %v", err)
				}
			})
		})
	}
}

func TestWatcher_namespaceMadeLater_isFollowedToo(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.watch(jobs.Config{})
		w.namespace("late")
		w.pass(5 * time.Second)
		w.register(service("shop", counted(0), in("late")))
		w.pass(time.Second)
		w.expect("put late/shop/web count 0: the job was registered")
	})
}

func TestWatcher_namespacesGiven_followsNoOther(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		w.namespace("mine")
		w.register(service("shop", counted(0)))
		w.register(service("shop", counted(0), in("mine")))
		w.watch(jobs.Config{Namespaces: []string{"mine"}})
		w.register(service("late", counted(0)))
		w.register(service("late", counted(0), in("mine")))
		w.pass(time.Second)
		w.expect(
			"put mine/shop/web count 0: found at start",
			"put mine/late/web count 0: the job was registered",
		)
	})
}

func TestWatcher_expiredToken_saysSo(t *testing.T) {
	inWorld(t, devnomad.Config{ACLToken: root}, func(t *testing.T, w *world) {
		w.token("default", "list-jobs", "read-job")
		token, _, err := w.admin.ACLTokens().Create(&nomad.ACLToken{
			Type: "client", Policies: []string{"default-list-jobs"},
			ExpirationTTL: time.Minute,
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Minute)
		w.watch(jobs.Config{Client: w.client(token.SecretID)})
		w.pass(time.Minute)
		err = w.watcher.Current()
		mustFail(t, err, "token")
		if !strings.Contains(err.Error(), "expired") && !strings.Contains(err.Error(), "know") {
			t.Errorf("error %q does not say what is wrong with the token", err)
		}
	})
}

// A cluster whose indexes begin anew takes the first one's place, as after a restore from
// an old snapshot.
func TestWatcher_indexesGoBack_believesNomad(t *testing.T) {
	inWorld(t, devnomad.Config{}, func(t *testing.T, w *world) {
		id := w.register(service("shop", counted(1)))
		w.register(service("gone", counted(0)))
		w.watch(jobs.Config{})
		if err := w.sleep(id); err != nil {
			t.Fatal(err)
		}
		if err := w.wake(id); err != nil {
			t.Fatal(err)
		}
		w.news()
		if err := w.cluster.Close(); err != nil {
			t.Fatal(err)
		}
		w.begin(devnomad.Config{Runner: &devnomad.InProcess{}})
		w.register(service("shop", counted(2)))
		w.pass(time.Minute)
		if got := w.news(); len(got) < 2 ||
			got[0] != "observe default/shop/web count 2: count changed from 1 to 2" {
			t.Errorf("told %q", got)
		}
		if n := len(w.addresses(id)); n != 2 {
			t.Errorf("%d targets", n)
		}
	})
}
