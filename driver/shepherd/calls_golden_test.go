package shepherd_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"doze/driver/shepherd"
	"doze/driver/shepherd/cgroup"
	"doze/driver/shepherd/frame"
	"doze/idle"
)

var update = flag.Bool("update", false, "write testdata/calls_v1.txt anew, with what was added")

// goldenFile is every call as it goes over the wire. A task's shepherd is as old as the task,
// and whoever calls it is as new as the plugin: what stands there stays, word for word. It may
// be added to, by -update, which refuses the rest.
const goldenFile = "testdata/calls_v1.txt"

// goldenCall is a call, what the shepherd says to it, and what its caller makes of that.
type goldenCall struct {
	name   string
	call   func(ctx context.Context, c *shepherd.Client) (any, error)
	script []answer
	want   any
	err    error
}

// returns is a call with one answer, which is the result.
func returns(
	name string, result any, call func(context.Context, *shepherd.Client) (any, error),
) goldenCall {
	a := frame.Answer{Last: true}
	if result != nil {
		a.Result = mustJSON(result)
	}
	return goldenCall{name: name, call: call, script: []answer{message(1, a)}, want: result}
}

// refused is a call that the shepherd answers with an error which keeps its identity.
func refused(
	name, code string, err error, call func(context.Context, *shepherd.Client) error,
) goldenCall {
	a := frame.Answer{Last: true, Error: err.Error(), Code: code}
	return goldenCall{name: name, call: silent(call), script: []answer{message(1, a)}, err: err}
}

// silent is a call without a result.
func silent(
	call func(context.Context, *shepherd.Client) error,
) func(context.Context, *shepherd.Client) (any, error) {
	return func(ctx context.Context, c *shepherd.Client) (any, error) { return nil, call(ctx, c) }
}

func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // of the tests' own values
	}
	return text
}

func goldenCalls(t *testing.T) []goldenCall {
	t.Helper()
	status := func(ctx context.Context, c *shepherd.Client) (any, error) {
		s, err := c.Status(ctx)
		s.Shepherd = 0 // is not on the wire
		return s, err
	}
	stats := func(ctx context.Context, c *shepherd.Client) (any, error) { return c.Stats(ctx) }
	wait := func(ctx context.Context, c *shepherd.Client) (any, error) { return c.Wait(ctx) }
	sleepTo := func(depth idle.Depth) func(context.Context, *shepherd.Client) error {
		return func(ctx context.Context, c *shepherd.Client) error { return c.Sleep(ctx, depth) }
	}
	wake := func(ctx context.Context, c *shepherd.Client) error { return c.Wake(ctx) }
	var all []goldenCall
	for _, state := range []idle.State{idle.Asleep, idle.Waking, idle.Ready, idle.Draining,
		idle.Sleeping, idle.Failed} {
		all = append(all, returns("status, "+state.String(), shepherd.Status{State: state}, status))
	}
	return append(all,
		returns("status", filled[shepherd.Status](t), status),
		returns("stats", filled[shepherd.Stats](t), stats),
		returns("signal", nil, silent(func(ctx context.Context, c *shepherd.Client) error {
			return c.Signal(ctx, "SIGWINCH")
		})),
		execCall(),
		terminalCall(),
		returns("sleep freeze", nil, silent(sleepTo(idle.Freeze))),
		returns("wake", nil, silent(wake)),
		returns("sleep park", nil, silent(sleepTo(idle.Park))),
		eventsCall(t),
		returns("stop", nil, silent(func(ctx context.Context, c *shepherd.Client) error {
			return c.Stop(ctx, 1500*time.Millisecond, "SIGTERM")
		})),
		returns("wait", filled[shepherd.Exit](t), wait),
		refused("wake, exited", "exited", shepherd.ErrExited, wake),
		refused("sleep, in use", "in_use", shepherd.ErrInUse, sleepTo(idle.Park)),
		refused("sleep, no freezer", "no_freezer", cgroup.ErrNoFreezer, sleepTo(idle.Freeze)),
		returns("destroy", nil, silent(func(ctx context.Context, c *shepherd.Client) error {
			return c.Destroy(ctx)
		})),
	)
}

// execCall is a command that repeats its input.
func execCall() goldenCall {
	c := goldenCall{name: "exec", want: "out: hello\nerr: oops\n",
		call: func(ctx context.Context, c *shepherd.Client) (any, error) {
			var out, err strings.Builder
			spec := shepherd.ExecSpec{Argv: []string{"cat"}, Env: []string{"A=b"}}
			_, failed := c.Exec(ctx, spec, strings.NewReader("hello\n"), &out, &err)
			return "out: " + out.String() + "err: " + err.String(), failed
		}}
	c.script = []answer{
		{3, wireFrame{'o', "hello\n"}}, {0, wireFrame{'e', "oops\n"}},
		message(0, frame.Answer{Last: true, Result: mustJSON(shepherd.Exit{})}),
	}
	return c
}

// terminalCall is a command with a terminal of a size.
func terminalCall() goldenCall {
	exit := shepherd.Exit{Code: 7}
	return goldenCall{name: "exec, terminal", want: exit,
		call: func(ctx context.Context, c *shepherd.Client) (any, error) {
			sizes := make(chan shepherd.Size, 1)
			sizes <- shepherd.Size{Width: 132, Height: 43}
			spec := shepherd.ExecSpec{Argv: []string{"true"}, TTY: true, Size: sizes}
			return c.Exec(ctx, spec, nil, nil, nil)
		},
		script: []answer{message(3, frame.Answer{Last: true, Result: mustJSON(exit)})}}
}

// eventsCall tells an event of every kind; each is followed by the reader's word for it, but
// the last, with which he leaves.
func eventsCall(t *testing.T) goldenCall {
	t.Helper()
	var all []shepherd.Event
	c := goldenCall{name: "events"}
	for i, kind := range namesIn(t, "status.go", `EventKind = "(\w+)"`) {
		e := filled[shepherd.Event](t)
		e.Seq, e.Kind = uint64(i+1), shepherd.EventKind(kind)
		all, c.script = append(all, e), append(c.script, message(1, e))
	}
	c.want = all
	c.call = func(ctx context.Context, c *shepherd.Client) (any, error) {
		var told []shepherd.Event
		enough := errors.New("enough")
		err := c.Events(ctx, func(e shepherd.Event) error {
			if told = append(told, e); len(told) == len(all) {
				return enough
			}
			return nil
		})
		if errors.Is(err, enough) {
			err = nil
		}
		return told, err
	}
	return c
}

// namesIn are what a pattern finds in a file of this package.
func namesIn(t *testing.T, file, pattern string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		names = append(names, match[1])
	}
	if len(names) < 3 {
		t.Fatalf("in %s are only %q", file, names)
	}
	return names
}

// What a client sends and a shepherd answers is what the golden says, and is understood.
func TestCalls_everyOne_isTheGoldenAndIsReadFromIt(t *testing.T) {
	var now strings.Builder
	for _, g := range goldenCalls(t) {
		lines, result, err := play(t, g.script, g.call)
		if !errors.Is(err, g.err) || !reflect.DeepEqual(result, g.want) {
			t.Errorf("%s: read was\n%+v, %v, said was\n%+v, %v", g.name, result, err, g.want, g.err)
		}
		fmt.Fprintf(&now, "# %s\n%s\n\n", g.name, strings.Join(lines, "\n"))
	}
	golden := parseGolden(t)
	if lost := lostFrom(t, golden, parseScripts(now.String())); len(lost) > 0 {
		t.Fatalf("shepherds of older versions would not be understood, or not understand; only "+
			"add to what goes over the wire. Missing is:\n%s", strings.Join(lost, "\n"))
	}
	if *update {
		if err := os.WriteFile(goldenFile, []byte(now.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		golden = parseGolden(t)
	}
	if !reflect.DeepEqual(golden, parseScripts(now.String())) {
		t.Errorf("what goes over the wire was added to: write %s anew with -update. It is now\n%s",
			goldenFile, &now)
	}
}

// Every call that a shepherd answers stands in the golden.
func TestCalls_everyName_isInTheGolden(t *testing.T) {
	golden := parseGolden(t)
	for _, name := range namesIn(t, "server.go", `call\w+ += "(\w+)"`) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(golden)), func(has string) bool {
			return strings.HasPrefix(golden[has][0], `> m {"call":"`+name+`",`)
		}) {
			t.Errorf("the call %s is not in %s", name, goldenFile)
		}
	}
}

// filled is a value all of whose fields on the wire say something, those of tomorrow too.
func filled[T any](t *testing.T) (v T) {
	t.Helper()
	fillIn(t, "", reflect.ValueOf(&v).Elem())
	return v
}

func fillIn(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	switch now := v.Addr().Interface().(type) {
	case *time.Time:
		*now = time.Date(2026, 11, 30, 12, 0, 0, 5_000_000, time.UTC)
		return
	case *idle.State:
		*now = idle.Draining
		return
	case *idle.Depth:
		*now = idle.Park
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("json") != "-" {
				fillIn(t, field.Name, v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillIn(t, name, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fillIn(t, name, v.Index(0))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{"cause": name}))
	case reflect.String:
		v.SetString("the " + name)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(len(name)))
	case reflect.Uint64:
		v.SetUint(uint64(len(name)))
	default:
		t.Fatalf("field %s is of a kind that is not known here, %s", name, v.Kind())
	}
}
