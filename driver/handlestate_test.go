package driver

import (
	"flag"
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

// What is written today is what lies in testdata: a change needs a new version and a file
// of its own, or an agent that is updated loses its tasks.
func TestHandleState_written_isTheGoldenFile(t *testing.T) {
	data, err := goldenState().encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "handle_v1.json")
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

func TestHandleState_everyVersionEverWritten_isReadable(t *testing.T) {
	files, err := filepath.Glob("testdata/handle_v*.json")
	if err != nil || len(files) != stateVersion {
		t.Fatalf("there are %d golden files for %d versions (%v)", len(files), stateVersion, err)
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
		if !reflect.DeepEqual(got, goldenState()) {
			t.Errorf("%s reads %+v, not %+v", path, got, goldenState())
		}
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
