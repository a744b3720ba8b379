package driver

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the golden file of the current state version")

func goldenState() handleState {
	return handleState{
		Version:   stateVersion,
		TaskID:    "8f0c2d6e-0000-4000-8000-1b2c3d4e5f60/web/0a1b2c3d",
		AllocID:   "8f0c2d6e-0000-4000-8000-1b2c3d4e5f60",
		TaskName:  "web",
		Dir:       "/run/doze/5d41402abc4b2a76b971",
		StartedAt: time.Date(2026, 11, 29, 21, 20, 16, 500_000_000, time.UTC),
		Unified:   "/sys/fs/cgroup/unified/doze/5d41402abc4b2a76b971",
		Legacy:    map[string]string{"cpu": "/sys/fs/cgroup/cpu/doze/5d41402abc4b2a76b971"},
	}
}

// lentState is the state of a task in the cgroup that Nomad's client has made for it.
func lentState() handleState {
	s := goldenState()
	s.Unified, s.Lent = "/sys/fs/cgroup/nomad.slice/share.slice/8f0c2d6e.web.scope", true
	return s
}

// goldenStates are the files in testdata and what they say: at least one a version, and never
// one less.
func goldenStates() map[string]handleState {
	return map[string]handleState{
		"handle_v1.json": goldenState(), "handle_v1_lent.json": lentState()}
}

// What is written today is what lies in testdata: a change needs a new version and a file
// of its own, or an agent that is updated loses its tasks.
func TestHandleState_written_isTheGoldenFile(t *testing.T) {
	for name, state := range goldenStates() {
		if !strings.HasPrefix(name, fmt.Sprintf("handle_v%d", stateVersion)) {
			continue // it is written no more
		}
		data, err := state.encode()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(data) + "\n"; got != string(want) {
			t.Errorf("a state is written as\n%snot as\n%s", got, want)
		}
	}
}

func TestHandleState_everyVersionEverWritten_isReadable(t *testing.T) {
	golden, versions := goldenStates(), map[int]bool{}
	files, err := filepath.Glob("testdata/handle_v*.json")
	if err != nil || len(files) != len(golden) {
		t.Fatalf("there are %d golden files, not %d (%v)", len(files), len(golden), err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeState(data)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		versions[got.Version] = true
		if want := golden[filepath.Base(path)]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s reads %+v, not %+v", path, got, want)
		}
	}
	if len(versions) != stateVersion {
		t.Errorf("the golden files are of %d versions, not %d", len(versions), stateVersion)
	}
}

func TestHandleState_notOurs_saysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{"", "cannot read the task's state"},
		{"\x82\xa7version\x01", "cannot read the task's state"},
		{`{"version":2,"task_id":"a","dir":"/d"}`, "version 2 is not known here"},
		{`{"task_id":"a","dir":"/d"}`, "version 0 is not known here"},
		{`{"version":1,"dir":"/d"}`, "names no task"},
		{`{"version":1,"task_id":"a","dir":"d"}`, "no directory of a shepherd"},
	} {
		_, err := decodeState([]byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got error %v, want one with %q", c.data, err, c.want)
		}
	}
}

func FuzzHandleState_anyBytes_neverPanicsAndReadsBack(f *testing.F) {
	f.Add([]byte(`{"version":1,"task_id":"a/b/c","dir":"/run/doze/x"}`))
	f.Add([]byte(`{"version":1,"task_id":"a","dir":"/d","started_at":"x"}`))
	f.Add([]byte{0x80})
	f.Fuzz(func(t *testing.T, data []byte) {
		state, err := decodeState(data)
		if err != nil {
			return
		}
		again, err := state.encode()
		if err != nil {
			t.Skip("a time that JSON cannot hold")
		}
		back, err := decodeState(again)
		if err != nil || !reflect.DeepEqual(back, state) {
			t.Errorf("%+v reads back as %+v, %v", state, back, err)
		}
	})
}
