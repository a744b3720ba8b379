package idle_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"doze/healthgate"
	"doze/idle"
)

// TestMachine_transcripts plays testdata/*.transcript: lines that begin with ">" are events,
// the lines below each are what the machine did. -update writes them anew.
//
//	> [+duration | due] event [word …] [key=value …]
//
// in=N and waiting=N, last=duration-ago, admitted=bool and known=bool set the activity from
// that event on.
func TestMachine_transcripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.transcript")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newTranscript(t).play(string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(want) {
				t.Errorf("%s is not what the machine does:\n%s", file, got)
			}
		})
	}
}

// transcript is a machine, its time and its activity.
type transcript struct {
	t          *testing.T
	m          idle.Machine
	start, now time.Time
	act        idle.Activity
}

func newTranscript(t *testing.T) *transcript {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	p := policy()
	return &transcript{
		t: t, start: now, now: now, act: idle.Activity{Known: true},
		m: idle.NewMachine(now, &p, idle.Zero),
	}
}

func (tr *transcript) play(script string) string {
	var out strings.Builder
	for line := range strings.Lines(script) {
		switch {
		case strings.HasPrefix(line, ">"):
			out.WriteString(line)
			tr.event(&out, strings.Fields(line[1:]))
		case strings.HasPrefix(line, "#"), strings.TrimSpace(line) == "":
			out.WriteString(line)
		}
	}
	return out.String()
}

func (tr *transcript) event(out *strings.Builder, words []string) {
	if tr.advance(words[0]) {
		words = words[1:]
	}
	words = tr.use(words)
	ev := tr.read(words[0], words[1:])
	ev.Activity = tr.act
	for _, e := range tr.m.Step(tr.now, ev) {
		fmt.Fprintf(out, "    %s\n", describe(e))
	}
	due := "never"
	if at := tr.m.Due(); !at.IsZero() {
		due = at.Sub(tr.start).String()
	}
	fmt.Fprintf(out, "  %s %s, due %s\n", tr.now.Sub(tr.start), tr.m.State(), due)
}

// advance moves the clock if the word says so.
func (tr *transcript) advance(word string) bool {
	if word == "due" {
		tr.now = tr.m.Due()
		return true
	}
	if !strings.HasPrefix(word, "+") {
		return false
	}
	tr.now = tr.now.Add(tr.duration(word[1:]))
	return true
}

func (tr *transcript) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		tr.t.Fatal(err)
	}
	return d
}

// use takes the key=value words out and sets the activity.
func (tr *transcript) use(words []string) []string {
	var rest []string
	for _, w := range words {
		key, value, ok := strings.Cut(w, "=")
		n, _ := strconv.ParseInt(value, 10, 64) // 0 for the keys that are no number
		switch {
		case !ok:
			rest = append(rest, w)
		case key == "in":
			tr.act.InFlight = n
		case key == "waiting":
			tr.act.Waiting = n
		case key == "last":
			tr.act.Last = tr.now.Add(-tr.duration(value))
		case key == "admitted":
			tr.act.Admitted = value == "true"
		case key == "known":
			tr.act.Known = value == "true"
		default:
			tr.t.Fatalf("unknown key %q", key)
		}
	}
	return rest
}

// read makes an event of its words.
func (tr *transcript) read(word string, args []string) idle.Event {
	text := strings.Join(args, " ")
	switch word {
	case "request":
		return idle.Event{Kind: idle.RequestHeld, Cause: "request"}
	case "wake":
		return idle.Event{Kind: idle.WakeAsked, Cause: "command: " + text}
	case "sleep", "force":
		return idle.Event{Kind: idle.SleepAsked, Cause: "command: " + text, Force: word == "force"}
	case "deepen":
		return idle.Event{Kind: idle.DeepenAsked, Cause: "memory", Depth: tr.depth(text)}
	case "lease":
		until := tr.now.Add(tr.duration(args[1]))
		return idle.Event{Kind: idle.LeaseTaken, Lease: args[0], Until: until}
	case "drop":
		return idle.Event{Kind: idle.LeaseDropped, Lease: text}
	case "observe":
		n, _ := strconv.Atoi(text) // anything else reads as asleep
		return idle.Event{Kind: idle.Observed,
			Observation: idle.Observation{Count: n, Cause: "seen"}}
	case "targets":
		var targets []healthgate.Target
		for _, a := range args {
			targets = append(targets, healthgate.Target{ID: a, Addr: a + ":80"})
		}
		return idle.Event{Kind: idle.TargetsDeclared, Targets: targets}
	}
	return tr.readRest(word, args)
}

func (tr *transcript) depth(word string) (d idle.Depth) {
	if err := d.UnmarshalText([]byte(word)); err != nil {
		tr.t.Fatal(err)
	}
	return d
}

// readRest reads results, which carry the current generation or the one of "gen-1", answers
// and deadlines.
func (tr *transcript) readRest(word string, args []string) idle.Event {
	ev := idle.Event{Generation: tr.m.Generation()}
	if len(args) > 0 && args[0] == "gen-1" {
		ev.Generation--
		args = args[1:]
	}
	if len(args) > 1 && args[0] == "notnow" {
		ev.Err = &idle.NotNowError{Reason: "deployment", After: tr.duration(args[1])}
	} else if len(args) > 0 {
		ev.Err = errors.New(strings.Join(args, " "))
	}
	kinds := map[string]idle.EventKind{
		"booted": idle.TargetBooted, "ready": idle.TargetReady, "lost": idle.TargetsLost,
		"woke": idle.WakeReturned, "slept": idle.SleepReturned, "shut": idle.GateShut,
		"busy": idle.GateBusy, "closed": idle.GateClosed, "opened": idle.GateOpened,
		"nothing": idle.NothingToOpen, "deadline": idle.DeadlinePassed,
		"policy": idle.PolicyChanged, "removed": idle.Removed,
	}
	kind, ok := kinds[word]
	if !ok {
		tr.t.Fatalf("unknown event %q", word)
	}
	ev.Kind = kind
	if kind == idle.PolicyChanged {
		ev.Policy = tr.policy(ev.Err.Error())
	}
	return ev
}

// policy reads "rung=after …, wake=duration, …" without the keys' signs: words in pairs.
func (tr *transcript) policy(text string) *idle.Policy {
	p := idle.Policy{WakeTimeout: 10 * time.Second}
	words := strings.Fields(text)
	for i := 0; i+1 < len(words); i += 2 {
		d := tr.duration(words[i+1])
		switch words[i] {
		case "wake":
			p.WakeTimeout = d
		case "min":
			p.MinAwake = d
		case "drain":
			p.DrainDelay = d
		case "open":
			p.FailOpen = true
		default:
			p.Rungs = append(p.Rungs, idle.Rung{Depth: tr.depth(words[i]), After: d})
		}
	}
	if err := p.Validate(); err != nil {
		tr.t.Fatal(err)
	}
	return &p
}

// describe puts an effect into one line.
func describe(e idle.Effect) string {
	switch e.Kind {
	case idle.Report:
		return describeTransition(e.Transition)
	case idle.CallSleep:
		return fmt.Sprintf("%s %d %s", e.Kind, e.Generation, e.Depth)
	case idle.ArmGate, idle.UpdateGate:
		return fmt.Sprintf("%s %d with %d targets", e.Kind, e.Generation, len(e.Targets))
	case idle.FailWaiters, idle.CancelCall:
		line := fmt.Sprintf("%s %d: %v", e.Kind, e.Generation, e.Err)
		if failed, ok := errors.AsType[*idle.FailedError](e.Err); ok {
			line += fmt.Sprintf(" (retry after %s)", failed.RetryAfter)
		}
		return line
	case idle.CallWake:
		return fmt.Sprintf("%s %d", e.Kind, e.Generation)
	}
	return e.Kind.String()
}

func describeTransition(t *idle.Transition) string {
	line := fmt.Sprintf("%s → %s %d, %q", t.From, t.To, t.Generation, t.Cause)
	if t.Depth != idle.Awake {
		line += " " + t.Depth.String()
	}
	if t.Err != "" {
		line += fmt.Sprintf(", err %q", t.Err)
	}
	if t.Wake != nil && !t.Wake.Ready.IsZero() {
		line += fmt.Sprintf(", woken in %s", t.Wake.Ready.Sub(t.Wake.Started))
	}
	return line
}
